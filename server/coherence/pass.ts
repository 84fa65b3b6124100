// One pass: what changed in Postgres since the cursor in my Redis is applied to that Redis and to my tier 1.
//
//   read the cursor ─▶ ask Postgres what became visible since ─▶ write it and move the cursor, in one step ─▶ trust
//        ▲                    │ no cursor, or not one of this database             │ somebody moved it first
//        │                    ▼                                                    │
//        └── drop the cursor, unlink everything, set a cursor ◀────────────────────┴─▶ begin again
//
// There is no leader and no lock: passes of all processes run side by side, and whoever moves the cursor first has done
// the work for the others. Of a long list of changes (a bulk load) only the codes are read, and what Redis holds of them
// is forgotten instead of rewritten: whoever is asked for one of them asks Postgres, and fills.
import { limits } from '../config.ts'
import type { Code, Known } from '../link.ts'
import { withDeadline } from '../connections/deadline.ts'
import { pause } from '../connections/pause.ts'
import type { SharedCache } from './shared-cache.ts'
import type { Trust } from './trust.ts'
import type { Changes, Cursor, Truth } from './truth.ts'

export interface LocalCopies {
  /** Newer news of a code that may be held; never takes the place of anything newer. */
  amend(code: Code, known: Known): void
  /** What is held of it has changed. */
  expire(code: Code): void
  /** Nothing remembered can be compared with this database. */
  clear(): void
}

interface PassDeps {
  readonly cache: SharedCache
  readonly truth: Truth
  readonly local: LocalCopies
  readonly trust: Trust
  readonly nowMs: () => number
  readonly onApplied: (ageS: number) => void
  readonly onWipe: (why: string) => void
  /** What else must be looked at in this Redis before it is trusted; nothing once it has been, on this connection. */
  readonly prepare?: (() => Promise<void>) | undefined
  /** This Redis has seen a later state of the database: called until it is of another identity. */
  readonly onGoneBack?: ((identity: string) => Promise<unknown>) | undefined
}

/** Resolves to true when my Redis is fresh as of the beginning of the last step; false when it could not be made so. */
export type Pass = () => Promise<boolean>

export function createPass(deps: PassDeps): Pass {
  const { cache, truth, local, trust } = deps
  let identity: string | undefined
  const step = <T>(promise: Promise<T>): Promise<T> => withDeadline(promise, limits.passStepMs, 'a step of a pass')

  const startOver = async (held: string | null, now: Cursor, why: string): Promise<void> => {
    deps.onWipe(why)
    trust.revoke()
    if (held !== null) await step(cache.dropCursor(held))
    else {
      await cache.wipe()
      await step(cache.advance(null, JSON.stringify(now), []))
    }
  }

  const apply = async (held: string, since: Cursor, found: Changes): Promise<'fresh' | 'more' | 'moved'> => {
    const { next, changes, forget } = found
    for (const { code, known } of changes) local.amend(code, known)
    for (const code of forget) local.expire(code)
    const idle =
      changes.length + forget.length === 0 && since.to === undefined && next.atS - since.atS < limits.cursorIdleS
    if (!idle) {
      if ((await step(cache.advance(held, JSON.stringify(next), changes, forget))) === 'moved') {
        // Somebody else works off the long list: reading every part of it too would only slow that down.
        if (forget.length > 0) await pause(limits.passYieldMs)
        return 'moved'
      }
      for (const { ageS } of changes) deps.onApplied(ageS)
    }
    if (next.to !== undefined) await pause(limits.passPaceMs)
    // A chunk of a longer list, or the end of a list that began before this step: there may be more.
    return next.to === undefined && since.to === undefined ? 'fresh' : 'more'
  }

  return async () => {
    const connection = cache.connection
    if (cache.ready) await deps.prepare?.()
    for (let lost = 0; ;) {
      // Somebody else's pass was faster, or this Redis does not keep what is written to it: the next pass looks again.
      if (lost > limits.passLost) return false
      if (lost > 0) await pause(2 ** (lost - 1))
      const beganMs = deps.nowMs()
      if (!cache.ready || cache.connection !== connection) return false
      const held = await step(cache.readCursor())
      const since = parseCursor(held)
      const found = await step(truth.changesSince(since))
      if (identity !== undefined && identity !== found.next.identity) local.clear()
      identity = found.next.identity
      const why = unusable(since, found)
      if (why === goneBack && deps.onGoneBack) {
        trust.revoke()
        await deps.onGoneBack(found.next.identity)
        lost++
      } else if (why !== undefined || held === null || since === null) {
        await startOver(held, found.next, why ?? 'it has no cursor')
        lost++
      } else {
        const applied = await apply(held, since, found)
        if (applied === 'fresh') {
          if (cache.connection !== connection) return false
          trust.renew(connection, beganMs)
          return true
        }
        lost = applied === 'moved' ? lost + 1 : 0
      }
    }
  }
}

/** Null for whatever a pass cannot have written: Postgres would refuse it, again and again. */
function parseCursor(held: string | null): Cursor | null {
  try {
    const cursor = JSON.parse(held ?? 'null') as Cursor | null
    if (typeof cursor !== 'object' || cursor === null) return null
    const { identity, version, snapshot, to, after, atS } = cursor
    const isWhole = typeof identity === 'string' && isCount(version) && isSnapshot(snapshot) && Number.isFinite(atS)
    const isUnderWay = to === undefined || isSnapshot(to)
    return isWhole && isUnderWay && (after === undefined || isPlace(after)) ? cursor : null
  } catch {
    return null
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const isPlace = (after: unknown): boolean =>
  Array.isArray(after) && after.length === 2 && /^\d{1,18}$/.test(String(after[0])) && isCount(after[1])

/** As Postgres writes them: xmin:xmax:those that were running, in order. */
function isSnapshot(text: unknown): boolean {
  const [, xmin, xmax, list] = /^(\d{1,18}):(\d{1,18}):([\d,]*)$/.exec(typeof text === 'string' ? text : '') ?? []
  if (xmin === undefined || xmax === undefined) return false
  const running = list ? list.split(',').map(BigInt) : []
  const before = [BigInt(xmin), ...running]
  const end = BigInt(xmax)
  return BigInt(xmin) > 0n && BigInt(xmin) <= end && running.every((xid, n) => xid >= (before[n] ?? end) && xid < end)
}

const goneBack = 'the database has gone back'

/** Why this Redis cannot be brought up to date by applying changes. */
function unusable(since: Cursor | null, { next: now, ahead }: Changes): string | undefined {
  if (since === null) return undefined
  if (since.identity !== now.identity) return 'its cursor is of another database'
  if (since.version > now.version || ahead) return goneBack
  if (now.atS - since.atS > (limits.outboxHours - 1) * 3600) return 'its cursor is older than the outbox'
  return undefined
}
