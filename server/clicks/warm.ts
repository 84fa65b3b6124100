// A Redis that came back empty is given the links that are asked for most, so that their readers do not all meet at
// Postgres. Bounded, once, in the background; a link that changes meanwhile is guarded as in every fill.
import type { SharedCache } from '../coherence/shared-cache.ts'
import type { Truth } from '../coherence/truth.ts'
import { limits } from '../limits.ts'
import { pause } from '../connections/deadline.ts'
import { isLink, type Code } from '../link.ts'

export interface WarmerDeps {
  readonly cache: Pick<SharedCache, 'cursor' | 'put'>
  readonly truth: Pick<Truth, 'read'>
  readonly trusted: () => boolean
  /** The most wanted first. */
  readonly codes: () => Code[]
  readonly onWarmed: (links: number) => void
}

const chunk = 50
const lookMs = 50
const patienceMs = 30_000

export class Warmer {
  readonly #deps: WarmerDeps
  #underWay = false
  #isOver = false

  constructor(deps: WarmerDeps) {
    this.#deps = deps
  }

  /** As soon as this Redis is trusted. */
  soon(): void {
    if (this.#underWay) return
    this.#underWay = true
    void this.#warm()
      .catch(() => undefined)
      .finally(() => (this.#underWay = false))
  }

  stop(): void {
    this.#isOver = true
  }

  async #warm(): Promise<void> {
    const { cache, truth, trusted, codes, onWarmed } = this.#deps
    const cursor = (): string | null => cache.cursor
    const untilMs = performance.now() + patienceMs
    while (!trusted() || cursor() === null) {
      if (this.#isOver || performance.now() > untilMs) return
      await pause(lookMs)
    }
    const wanted = [...new Set(codes())].slice(0, limits.warmLinks)
    let links = 0
    for (let at = 0; at < wanted.length && !this.#isOver; at += chunk) {
      const asOf = cursor()
      if (asOf === null) return
      const live = (await truth.read(wanted.slice(at, at + chunk))).filter(isLink)
      await Promise.all(live.map((link) => cache.put({ code: link.code, known: link }, asOf)))
      links += live.length
    }
    if (links > 0) onWarmed(links)
  }
}
