// One pass asks Postgres once for what became visible since the last one, tells tier 1, and by that vouches for it. Then
// the same answer is offered to Redis, beside it: a pass never waits for Redis.
//
//   ask Postgres what became visible since ─▶ tell tier 1 ─▶ vouch for it for `trustMs` ─▶ the next pass
//        │ not the database of before            │
//        ▼                                       └─▶ freshen.ts: Redis, one answer at a time
//   forget all of tier 1, begin anew
//
// Of a list that is too long for one answer (a bulk load) the rest is not read: everything in tier 1 is asked for anew.
import { limits } from '../limits.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Code, Known } from '../link.ts'
import { endOf, goneBack, isAhead, unusable, type Cursor } from './cursor.ts'
import type { Freshener } from './freshen.ts'
import type { News } from './news.ts'
import type { Changes, Truth } from './truth.ts'
import type { Vouching } from './vouching.ts'

export interface LocalCopies {
  /** Newer news of a code that may be held; never takes the place of anything newer. True: it was news. */
  amend(code: Code, known: Known, vouched?: boolean): boolean
  /** It has changed, and into what is not known: what is held leads to what was before. */
  outdate(code: Code): void
  /** Anything that is held may have changed. */
  expireAll(): void
  /** Nothing remembered can be compared with this database. */
  clear(): void
}

interface PassDeps {
  readonly truth: Truth
  readonly local: LocalCopies
  readonly vouching: Vouching
  /** Undefined: there is no standby whose answers are measured by it. */
  readonly news?: News | undefined
  /** Undefined: there is no Redis. */
  readonly freshener: Freshener | undefined
  readonly nowMs: () => number
  readonly onApplied: (ageS: number) => void
  /** This process has seen a later state of the database: called until it is of another identity. */
  readonly onGoneBack: (identity: string) => Promise<unknown>
  /** Which list of domains is the current one. Nothing is vouched for until it is known. */
  readonly onDomains: (version: string) => Promise<void>
}

export type Pass = ReturnType<typeof createPass>

export function createPass(deps: PassDeps) {
  const { truth, local, vouching, news, freshener } = deps
  let mine: Cursor | null = null

  const tell = ({ changes, forget, next }: Changes): boolean => {
    if (next.to !== undefined) local.expireAll()
    for (const { code, known, ageS } of changes) if (local.amend(code, known)) deps.onApplied(ageS)
    for (const code of forget) local.outdate(code)
    return next.to !== undefined || changes.length + forget.length > 0
  }

  /** Resolves when tier 1 knows what Postgres has answered. */
  const run = async (): Promise<void> => {
    const beganMs = deps.nowMs()
    const since = mine
    const found = await withDeadline(truth.changesSince(since), limits.passStepMs, 'a step of a pass')
    const now = endOf(found.next)
    const why = unusable(mine, { ...found, ahead: mine !== null && isAhead(mine, now) })
    if (why === goneBack) {
      local.clear()
      vouching.interrupted()
      news?.forget()
      freshener?.distrust()
      await deps.onGoneBack(now.identity)
      mine = null
      return
    }
    if (found.domains !== undefined)
      await withDeadline(deps.onDomains(found.domains), limits.passStepMs, 'the list of domains')
    let hasNews = true
    if (mine !== null && why === undefined) hasNews = tell(found)
    // What was remembered before the first pass, or could not be followed for so long, is asked for anew.
    else if (mine === null || mine.identity === now.identity) local.expireAll()
    else local.clear()
    const isFollowed = mine !== null && why === undefined && found.next.to === undefined
    news?.heard(now, isFollowed ? [...found.changes.map(({ code }) => code), ...found.forget] : 'anything')
    const isWhole = since !== null && why === undefined && found.next.to === undefined
    mine = now
    vouching.answered(beganMs, hasNews)
    freshener?.tell(isWhole ? { since, found, beganMs, news: vouching.news } : undefined)
  }

  return {
    run,
    /** Resolves when nothing of it is under way in Redis. */
    settled: async (): Promise<void> => freshener?.settled(),
  }
}
