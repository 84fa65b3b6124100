// Makes my Redis fresh: what changed in Postgres since the cursor in it is applied to it.
//
//   read the cursor ─▶ what became visible since ─▶ write it and move the cursor, in one step ─▶ trust
//        ▲                │ no cursor, or not one of this database             │ somebody moved it first
//        │                ▼                                                    │
//        └── drop the cursor, unlink everything, set a cursor ◀────────────────┴─▶ begin again
//
// How it may be done without unlinking anything is planned in docs/decisions/0052-failover.md.
//
// What became visible since is usually in what the pass has just heard; where that begins too late (this Redis is new here,
// or came back as it was before), Postgres is asked for this Redis alone.
// There is no leader and no lock: all processes do it side by side, and the first one to move the cursor has done the
// work for the others. Of a long list of changes (a bulk load) only the codes are read, and what Redis holds of them
// is forgotten instead of rewritten: the next reader of one of them asks Postgres, and fills.
import { limits } from '../limits.ts'
import { pause, withDeadline } from '../connections/deadline.ts'
import { compareSnapshots, goneBack, parseCursor, sees, unusable, type Cursor } from './cursor.ts'
import type { SharedCache } from './shared-cache.ts'
import type { Trust } from './trust.ts'
import type { Changes, Truth } from './truth.ts'
import type { Landing, Vouching } from './vouching.ts'

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
  readonly truth: Pick<Truth, 'changesSince'>
  readonly trust: Trust
  readonly vouching: Pick<Vouching, 'news'>
  readonly landing: Landing
  readonly nowMs: () => number
  readonly onApplied: (ageS: number) => void
  readonly onWipe: (why: string) => void
  /** What else must be looked at in this Redis before it is trusted; nothing once it has been, on this connection. */
  readonly prepare: () => Promise<void>
  /** This Redis has seen a later state of the database: called until it is of another identity. */
  readonly onGoneBack: (identity: string) => Promise<unknown>
  /** It could not be made fresh. */
  readonly onFailure: (error: unknown) => void
}

export function createFreshener(deps: FreshenerDeps) {
  const { cache, truth, trust, vouching, landing } = deps
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
      const { connection } = cache
      await cache.wipe()
      // Somebody else's by now, of which nothing was wiped: it is looked at anew.
      if (cache.connection !== connection) return
      await step(cache.advance(null, JSON.stringify(now), []))
    }
  }

  /** `text`: the cursor that stands there now, and nothing is missing. */
  const apply = async (held: string, since: Cursor, found: Changes): Promise<{ text: string } | 'more' | 'moved'> => {
    const { next, changes, forget } = found
    // Nothing of a part of a long list is not nothing of all of it: the rest is still to be asked for.
    const isWhole = since.to === undefined && next.to === undefined
    const isNothing = changes.length + forget.length === 0 && isWhole
    if (isNothing && next.atS - since.atS < limits.cursorIdleS) return { text: held }
    const text = JSON.stringify(next)
    if ((await step(cache.advance(held, text, changes, forget))) === 'moved') {
      // Somebody else works off the long list: reading every part of it too would only slow that down.
      if (forget.length > 0) await pause(limits.passYieldMs)
      return 'moved'
    }
    for (const { ageS } of changes) deps.onApplied(ageS)
    if (next.to !== undefined) await pause(limits.passPaceMs)
    // A chunk of a longer list, or the end of a list that began before this step: there may be more.
    return isWhole ? { text } : 'more'
  }

  /** True: it is fresh. */
  const untilFresh = async (answer: Answered | undefined): Promise<boolean> => {
    const connection = cache.connection
    await deps.prepare()
    for (let lost = 0; ;) {
      // Somebody else was faster, or this Redis does not keep what is written to it: the next pass looks again.
      if (lost > limits.passLost) return false
      if (lost > 0) await pause(2 ** (lost - 1))
      if (!cache.ready || cache.connection !== connection) return false
      const held = await step(cache.readCursor())
      const since = parseCursor(held)
      const { found, beganMs, news } = lackingIn(answer, since, landing.reached(held)) ?? (await ask(since))
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
          if (cache.connection !== connection) return false
          trust.renew(connection, beganMs)
          landing.hasLanded(applied.text, found.next, news)
          return true
        }
        lost = applied === 'moved' ? lost + 1 : 0
      }
    }
  }

  let running: Promise<void> | undefined
  let waiting: { readonly answer: Answered | undefined } | undefined

  const freshen = async (answer: Answered | undefined): Promise<void> => {
    const isFresh = await untilFresh(answer).catch((error: unknown) => {
      deps.onFailure(error)
      return false
    })
    if (!isFresh) landing.isUnknown()
  }

  const tell = (answer: Answered | undefined): void => {
    if (!cache.ready) return
    if (running) {
      waiting = { answer }
      return
    }
    running = freshen(answer).then(() => {
      running = undefined
      const next = waiting
      waiting = undefined
      if (next) tell(next.answer)
    })
  }

  return {
    /** What a pass has heard; undefined: not all of it. Not waited for: one answer is worked off at a time, and of those that wait the last. */
    tell,
    /** Resolves when nothing of it is under way. */
    async settled(): Promise<void> {
      while (running) await running
    },
    distrust: (): void => trust.revoke(),
  }
}

/**
 * What a Redis with this cursor lacks, as the answer of a pass says it; undefined where that begins too late to say. It has
 * all that the cursor's snapshot sees, and, while that cursor stands there, all up to where nothing has changed since. What
 * it has is not written once more: every writer would move the cursor, which drops the fills that are under way.
 */
function lackingIn(
  answer: Answered | undefined,
  since: Cursor | null,
  reached: Cursor = since as Cursor,
): Answered | undefined {
  if (answer === undefined || since === null || since.to !== undefined) return undefined
  const { next, changes, forget } = answer.found
  if (since.identity !== next.identity || compareSnapshots(answer.since.snapshot, reached.snapshot) > 0)
    return undefined
  if (compareSnapshots(reached.snapshot, next.snapshot) >= 0) {
    // Another process was faster, and has heard more. (One that stands further on and is older: the database has gone back.)
    const isLater = reached.atS >= Math.floor(next.atS)
    return isLater ? { ...answer, found: { next: reached, changes: [], forget: [] } } : undefined
  }
  if (unusable(since, answer.found) !== undefined) return undefined
  if (forget.length > 0 && answer.since.snapshot !== reached.snapshot) return undefined
  const lacked = changes.filter(({ xids }) => xids.some((xid) => !sees(reached.snapshot, xid)))
  return { ...answer, found: { ...answer.found, changes: lacked, forget } }
}
