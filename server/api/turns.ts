// Who may work while others wait: of a tenant one at a time, of all tenants a few, in this process. So the connections of the API are never all
// in the hands of one who asks for much.
import { QuickLinkError, unavailable } from '../errors.ts'

interface Most {
  readonly running: number
  /** Of all tenants, and of one. */
  readonly waiting: number
  readonly waitingOfTenant: number
  /** What they ask for. */
  readonly what: string
}

export const busy = (what: string): QuickLinkError =>
  new QuickLinkError('rate_limited', `Another ${what} of this tenant is under way: try again when it has ended.`, {
    retryAfterS: 1,
  })

export class Turns {
  readonly #most: Most
  readonly #running = new Set<string>()
  /** By tenant, in the order in which it is their turn. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #waitingInAll = 0

  constructor(most: Most) {
    this.#most = most
  }

  async in<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    await this.#take(tenant)
    try {
      return await work()
    } finally {
      this.#pass(tenant)
    }
  }

  async #take(tenant: string): Promise<void> {
    if (this.#mayRun(tenant)) {
      this.#running.add(tenant)
      return
    }
    const { what, waiting, waitingOfTenant } = this.#most
    const own = this.#waiting.get(tenant) ?? []
    if (own.length >= waitingOfTenant) throw busy(what)
    if (this.#waitingInAll >= waiting) throw unavailable('Too many of the kind are waiting: try again soon.')
    this.#waitingInAll++
    this.#waiting.set(tenant, own)
    await new Promise<void>((resolve) => own.push(resolve))
  }

  #pass(tenant: string): void {
    this.#running.delete(tenant)
    for (const [next, [begins, ...others]] of [...this.#waiting]) {
      if (begins === undefined || !this.#mayRun(next)) continue
      this.#waiting.delete(next)
      // Behind those who have waited meanwhile.
      if (others.length > 0) this.#waiting.set(next, others)
      this.#waitingInAll--
      this.#running.add(next)
      begins()
    }
  }

  #mayRun(tenant: string): boolean {
    return !this.#running.has(tenant) && this.#running.size < this.#most.running
  }
}
