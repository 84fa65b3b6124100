// How many keys that do not work an address may try: those of a minute are counted, per process, and what is beyond them is
// refused without a question to anybody. Fixed windows: at the edge of two of them twice as many pass.
import { LRUCache } from 'lru-cache'
import { limits } from '../limits.ts'
import { QuickLinkError } from '../errors.ts'

export interface Attempt {
  /** It works, or Postgres could not be asked: this attempt has not failed. */
  giveBack(): void
}

const windowS = 60

interface Bound {
  /** In a minute. */
  readonly most: number
  readonly detail: string
}

const keysTried: Bound = {
  most: limits.keyAttempts,
  detail: 'Too many keys that are not valid came from your address: try again later.',
}

export function createAttempts(nowMs: () => number, onTooMany: () => void, bound = keysTried) {
  const counts = new LRUCache<string, { window: number; count: number }>({ max: limits.keyAddresses })
  return {
    /** Throws where there were too many. Counted before the answer is known, so that many at once are no more than that. */
    begin(who: string): Attempt {
      const window = Math.floor(nowMs() / (windowS * 1000))
      let seen = counts.get(who)
      if (seen?.window !== window) counts.set(who, (seen = { window, count: 0 }))
      if (seen.count >= bound.most) {
        onTooMany()
        throw tooMany(bound, (window + 1) * windowS - nowMs() / 1000)
      }
      const mine = seen
      mine.count++
      return {
        giveBack() {
          mine.count--
        },
      }
    },
  }
}

function tooMany({ most, detail }: Bound, leftS: number): QuickLinkError {
  const retryAfterS = Math.max(1, Math.ceil(leftS))
  return new QuickLinkError('rate_limited', detail, {
    retryAfterS,
    headers: {
      'RateLimit-Policy': `"keys";q=${most};w=${windowS}`,
      RateLimit: `"keys";r=0;t=${retryAfterS}`,
    },
  })
}
