// A Redis that came back empty is given the links that are asked for most, so that their readers do not all meet at
// Postgres. Bounded, once, in the background; a link that changes meanwhile is guarded as in every fill.
import type { SharedCache } from '../coherence/shared-cache.ts'
import type { Truth } from '../coherence/truth.ts'
import { pause } from '../connections/pause.ts'
import { isLink, type Code } from '../link.ts'

interface WarmerDeps {
  readonly cache: Pick<SharedCache, 'cursor' | 'put'>
  readonly truth: Pick<Truth, 'read'>
  readonly trusted: () => boolean
  /** The most wanted first. */
  readonly codes: () => Code[]
  readonly maxLinks: number
  readonly onWarmed: (links: number) => void
}

export interface Warmer {
  /** As soon as this Redis is trusted. */
  soon(): void
  stop(): void
}

const chunk = 50
const lookMs = 50
const patienceMs = 30_000

export function createWarmer(deps: WarmerDeps): Warmer {
  let underWay = false
  const life = { over: false }
  const cursor = (): string | null => deps.cache.cursor

  const warm = async (): Promise<void> => {
    const untilMs = performance.now() + patienceMs
    while (!deps.trusted() || cursor() === null) {
      if (life.over || performance.now() > untilMs) return
      await pause(lookMs)
    }
    const codes = [...new Set(deps.codes())].slice(0, deps.maxLinks)
    let links = 0
    for (let at = 0; at < codes.length && !life.over; at += chunk) {
      const asOf = cursor()
      if (asOf === null) return
      const known = await deps.truth.read(codes.slice(at, at + chunk))
      const live = known.filter(isLink)
      await Promise.all(live.map((link) => deps.cache.put({ code: link.code, known: link }, asOf)))
      links += live.length
    }
    if (links > 0) deps.onWarmed(links)
  }

  return {
    soon() {
      if (underWay) return
      underWay = true
      void warm()
        .catch(() => undefined)
        .finally(() => (underWay = false))
    },
    stop() {
      life.over = true
    },
  }
}
