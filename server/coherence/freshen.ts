// Makes my Redis fresh: what changed in Postgres since the cursor in it is applied to it.
//
//   read the cursor ─▶ what became visible since ─▶ write it and move the cursor, in one step ─▶ trust
//        ▲                │ no cursor, or not one of this database             │ somebody moved it first
//        │                ▼                                                    │
//        └── drop the cursor, unlink everything, set a cursor ◀────────────────┴─▶ begin again
//
// What became visible since is usually what the pass has just heard; where that does not say it exactly, Postgres is asked
// for this Redis alone.
// There is no leader and no lock: all processes do it side by side, and the first one to move the cursor has done the
// work for the others. Of a long list of changes (a bulk load) only the codes are read, and what Redis holds of them
// is forgotten instead of rewritten: the next reader of one of them asks Postgres, and fills.
import { limits } from '../limits.ts'
import { pause, withDeadline } from '../connections/deadline.ts'
import { compareSnapshots, goneBack, parseCursor, unusable, type Cursor } from './cursor.ts'
import type { SharedCache } from './shared-cache.ts'
import type { Trust } from './trust.ts'
import type { Changes, Truth } from './truth.ts'
import type { Landed, Vouching } from './vouching.ts'

/** What Postgres has answered, and to whom. */
export interface Answered {
  readonly since: Cursor
  readonly found: Changes
  readonly beganMs: number
  /** News that passes had heard by then. */
  readonly news: number
}

export type Freshener = ReturnType<typeof createFreshener>

interface FreshenerDeps {
  readonly cache: SharedCache
  readonly truth: Truth
  readonly trust: Trust
  readonly vouching: Vouching
  readonly nowMs: () => number
  readonly onApplied: (ageS: number) => void
  readonly onWipe: (why: string) => void
  /** What else must be looked at in this Redis before it is trusted; nothing once it has been, on this connection. */
  readonly prepare: () => Promise<void>
  /** This Redis has seen a later state of the database: called until it is of another identity. */
  readonly onGoneBack: (identity: string) => Promise<unknown>
}

export function createFreshener(deps: FreshenerDeps) {
  const { cache, truth, trust, vouching } = deps
  const step = <T>(promise: Promise<T>): Promise<T> =>
    withDeadline(promise, limits.passStepMs, 'a step of making Redis fresh')

  const ask = async (since: Cursor | null): Promise<Omit<Answered, 'since'>> => {
    const { news } = vouching
    const beganMs = deps.nowMs()
    return { found: await step(truth.changesSince(since)), beganMs, news }
  }

  const startOver = async (held: string | null, now: Cursor, why: string): Promise<void> => {
    deps.onWipe(why)
    trust.revoke()
    if (held !== null) await step(cache.dropCursor(held))
    else {
      await cache.wipe()
      await step(cache.advance(null, JSON.stringify(now), []))
    }
  }

  const apply = async (held: string, since: Cursor, found: Changes): Promise<Landed | 'more' | 'moved'> => {
    const { next, changes, forget } = found
    const idle =
      changes.length + forget.length === 0 && since.to === undefined && next.atS - since.atS < limits.cursorIdleS
    const text = idle ? held : JSON.stringify(next)
    if (!idle) {
      if ((await step(cache.advance(held, text, changes, forget))) === 'moved') {
        // Somebody else works off the long list: reading every part of it too would only slow that down.
        if (forget.length > 0) await pause(limits.passYieldMs)
        return 'moved'
      }
      for (const { ageS } of changes) deps.onApplied(ageS)
    }
    if (next.to !== undefined) await pause(limits.passPaceMs)
    // A chunk of a longer list, or the end of a list that began before this step: there may be more.
    if (next.to !== undefined || since.to !== undefined) return 'more'
    return { text, cursor: idle ? since : next }
  }

  const untilFresh = async (answer: Answered | undefined): Promise<Landed | undefined> => {
    const connection = cache.connection
    await deps.prepare()
    for (let lost = 0; ;) {
      // Somebody else was faster, or this Redis does not keep what is written to it: the next pass looks again.
      if (lost > limits.passLost) return undefined
      if (lost > 0) await pause(2 ** (lost - 1))
      if (!cache.ready || cache.connection !== connection) return undefined
      const held = await step(cache.readCursor())
      const since = parseCursor(held)
      const { found, beganMs, news } = said(answer, since) ?? (await ask(since))
      const why = unusable(since, found)
      if (why === goneBack) {
        trust.revoke()
        await deps.onGoneBack(found.next.identity)
        lost++
      } else if (why !== undefined || held === null || since === null) {
        await startOver(held, found.next, why ?? 'it has no cursor')
        lost++
      } else {
        const applied = await apply(held, since, found)
        if (typeof applied === 'object') {
          if (cache.connection !== connection) return undefined
          trust.renew(connection, beganMs)
          vouching.hasLanded(applied, news)
          return applied
        }
        lost = applied === 'moved' ? lost + 1 : 0
      }
    }
  }

  return {
    get ready(): boolean {
      return cache.ready
    },
    /** Resolves also when it could not be made fresh. */
    async freshen(answer: Answered | undefined): Promise<void> {
      let landed: Landed | undefined
      try {
        landed = await untilFresh(answer)
      } finally {
        if (landed === undefined) vouching.landed = undefined
      }
    },
    distrust: (): void => trust.revoke(),
  }
}

/**
 * What the answer says about the time since this cursor: exactly, or undefined. (It could also be applied to a cursor that
 * somebody has moved within its time; but then each process would write the same changes again, and move the cursor for
 * it, which drops the fills that are under way.)
 */
function said(answer: Answered | undefined, since: Cursor | null): Answered | undefined {
  if (answer === undefined || since === null || since.to !== undefined) return undefined
  const { next, changes, forget } = answer.found
  if (unusable(since, answer.found) !== undefined) return undefined
  const fromBegin = compareSnapshots(answer.since.snapshot, since.snapshot)
  const toEnd = compareSnapshots(since.snapshot, next.snapshot)
  if (toEnd === 0) return { ...answer, found: { ...answer.found, changes: [], forget: [] } }
  const isNothing = changes.length + forget.length === 0
  return fromBegin === 0 || (isNothing && fromBegin < 0 && toEnd < 0) ? answer : undefined
}
