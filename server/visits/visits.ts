// Visits of one process. A redirect leaves some bytes (ring.ts, slots.ts); once a second, with the batch of clicks, what was
// left is parsed, a millisecond at a time between requests, and becomes figures that go the way of the clicks. Bytes are
// wiped then.
import type { Batch } from '../clicks/batch.ts'
import type { Tally } from '../clicks/counter.ts'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import { plainAddress, subscriberOf } from '../rates/addresses.ts'
import { clientAddress } from '../rates/client-address.ts'
import { createAgents } from './agent.ts'
import { pack, type Packed } from './batch.ts'
import { classify } from './classify.ts'
import type { Countries } from './countries.ts'
import { createDoorkeeper } from './doorkeeper.ts'
import { sumUp, type Visit } from './folding.ts'
import { registerOf } from './hyperloglog.ts'
import { keyed } from './keyed.ts'
import { Ring, type Taken } from './ring.ts'
import type { Salts } from './salts.ts'
import { readSlot, writeSlot, type Said, type Seen } from './slots.ts'

/** Who came, as the two doors know it. */
export interface Caller {
  said(): Said
  readonly peer: string | undefined
  readonly forwardedFor: string | undefined
  readonly query: string | undefined
}

/** What redirects know of visits. */
export type OnVisit = (tally: Tally, caller: Caller, rule: number | undefined) => void

export interface VisitsDeps {
  readonly countries: Pick<Countries, 'of'> | undefined
  readonly salts: Pick<Salts, 'of'>
  /** Of one batch: visits looked at, told by weight, and without a slot; seconds that it took. */
  readonly onFolded: (detailed: number, weighted: number, dropped: number, seconds: number) => void
  readonly random?: () => number
}

type VisitsConfig = Pick<Config, 'visits' | 'visitsDetailPerS' | 'honourDnt' | 'trustProxy'>

export class Visits {
  readonly #config: VisitsConfig
  readonly #deps: VisitsDeps
  readonly #ring: Ring
  readonly #agentOf = createAgents()
  readonly #doorkeeper = createDoorkeeper()
  /** The salt that was used last, and what hashes with it. */
  #salt: Buffer | undefined
  #hashOf = keyed(Buffer.alloc(0))

  constructor(config: VisitsConfig, deps: VisitsDeps) {
    this.#config = config
    this.#deps = deps
    this.#ring = new Ring(config.visitsDetailPerS, deps.random)
  }

  /** After the click is counted. */
  readonly onVisit: OnVisit = (tally, caller, rule) => {
    if (!this.#ring.wants(tally)) return
    const at = this.#ring.place(tally)
    if (at !== -1) writeSlot(this.#ring.slots, at, caller.said(), this.#addressOf(caller), caller.query, rule)
  }

  /** What is to be said of a batch that has just been drained. One call at a time. */
  async fold({ rows, hourMs }: Batch): Promise<Packed> {
    const taken = this.#ring.swap()
    const details = this.#config.visits === 'full'
    const { visits, seconds } = await this.#parse(taken, hourMs)
    const samples = taken.strata.map(({ linkId, seen, slots }) => ({
      linkId,
      seen,
      visits: slots.map((slot) => visits[slot]).filter((visit) => visit !== undefined),
    }))
    const before = process.threadCpuUsage()
    const names = (linkId: number, dimension: number, value: string): boolean =>
      this.#doorkeeper.lets(linkId, dimension, value, hourMs)
    const links = sumUp(rows, samples, { names, details })
    const packed = pack(links)
    const [total, detailed] = links.reduce(([a, b], link) => [a + link.total, b + link.detailed], [0, 0])
    const dropped = taken.dropped + taken.used - visits.reduce((sum, visit) => sum + (visit === undefined ? 0 : 1), 0)
    const { user, system } = process.threadCpuUsage(before)
    this.#deps.onFolded(detailed, total - detailed, dropped, seconds + (user + system) / 1e6)
    return packed
  }

  /** By slot. No more than it may take: what is left then is told by weight. */
  async #parse({ slots, used }: Taken, hourMs: number): Promise<{ visits: (Visit | undefined)[]; seconds: number }> {
    const visits = new Array<Visit | undefined>(used).fill(undefined)
    let busyMs = 0
    // Whoever is left out is not always the last.
    const first = Math.floor((this.#deps.random ?? Math.random)() * used)
    try {
      for (let n = 0; n < used && busyMs < limits.visitsBusyMs;) {
        const before = process.threadCpuUsage()
        const untilMs = performance.now() + limits.visitsSliceMs
        do {
          const slot = (first + n) % used
          visits[slot] = this.#read(readSlot(slots, slot * limits.visitBytes), hourMs)
        } while (++n < used && performance.now() < untilMs)
        const { user, system } = process.threadCpuUsage(before)
        busyMs += (user + system) / 1000
        if (n < used) await new Promise((resolve) => setImmediate(resolve))
      }
    } finally {
      slots.fill(0, 0, used * limits.visitBytes)
    }
    return { visits, seconds: busyMs / 1000 }
  }

  #read(seen: Seen, hourMs: number): Visit {
    const { countries } = this.#deps
    const { visits, honourDnt } = this.#config
    const told = classify(seen, this.#agentOf(seen.userAgent), countries?.of(seen.address))
    const isWithheld = told.isPerson && seen.isPrivate && honourDnt === 'on'
    const isCounted = told.isPerson && !isWithheld && visits === 'full'
    return { ...told, isWithheld, register: isCounted ? this.#registerOf(seen, hourMs) : undefined }
  }

  #registerOf({ address, userAgent }: Seen, hourMs: number): number | undefined {
    const salt = this.#deps.salts.of(hourMs)
    if (salt === undefined || address === '') return undefined
    if (salt !== this.#salt) this.#hashOf = keyed(salt)
    this.#salt = salt
    return registerOf(this.#hashOf(`${subscriberOf(address)} ${userAgent}`))
  }

  #addressOf(caller: Caller): string {
    const { trustProxy } = this.#config
    const peer = plainAddress(caller.peer ?? '')
    return trustProxy(peer, 0) ? clientAddress(peer, caller.forwardedFor, trustProxy) : peer
  }
}
