// A standby near by: how far behind it is, whether it is asked, and the heartbeat by which both are known.
//
//   five times a second ─▶ its heartbeat is still the one of before? ─▶ the primary is asked to write another
//
// Whatever it says is measured by what passes have heard (news.ts), so that a standby which is behind costs a question, and no truth.
// Passes ask the primary. Only when it has not answered them for as long as a copy may be served without, they follow the standby.
import { withDeadline } from '../connections/deadline.ts'
import { isUnavailable, type Sql } from '../connections/postgres.ts'
import { limits } from '../limits.ts'
import { compareSnapshots, endOf, type Cursor } from './cursor.ts'
import type { Beat, Changes, NearTruth, Truth } from './truth.ts'

// One row, locked for a moment; several ask at the same time, and one of them writes. Nobody waits for a standby that has to confirm it.
const beatSql = `
  update ql_beat set n = n + 1, at = clock_timestamp(), identity = ql_identity() || '/' || ql_announcing(),
    version = (select last_value from link_version_seq), snapshot = pg_current_snapshot()
  from (select set_config('synchronous_commit', 'local', true)) as this
  where only_row and abs(extract(epoch from clock_timestamp() - at)) > ${limits.beatMs / 2000}`

interface StandbyDeps {
  readonly near: NearTruth
  /** The primary. */
  readonly far: Sql
  readonly everyMs: number
  readonly lagMaxS: number
  /** How long it is left alone when it did not answer. */
  readonly pauseMs: number
  readonly nowMs: () => number
  /** By the primary's clock. */
  readonly clockMs: () => number
  readonly onError: (error: unknown, what: string) => void
}

export type Standby = ReturnType<typeof watchStandby>

export function watchStandby(deps: StandbyDeps) {
  const { near, far, nowMs } = deps
  let seen: Beat | undefined
  let isUp = false
  let upMs = -Infinity
  let pausedUntilMs = -Infinity
  let isBeating = false
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  const beat = async (): Promise<void> => {
    if (isBeating) return
    isBeating = true
    try {
      await far.query(beatSql, [], 'ql-beat')
    } catch (error) {
      // A primary that cannot write serves all the same, and the standby falls behind.
      deps.onError(error, 'the heartbeat of the primary could not be written')
    } finally {
      isBeating = false
    }
  }

  const look = async (): Promise<void> => {
    try {
      const found = await withDeadline(near.beat(), limits.passStepMs, 'the standby')
      isUp = true
      upMs = nowMs()
      // By either: clocks may be wrong.
      if (found.n === seen?.n || deps.clockMs() - found.atS * 1000 > 0.75 * limits.beatMs) void beat()
      seen = found
    } catch (error) {
      isUp = false
      deps.onError(error, 'the standby does not answer')
    }
    if (!stopped) timer = setTimeout(() => void look(), deps.everyMs)
  }
  void look()

  const lagS = (): number => (seen === undefined ? Infinity : Math.max(0, deps.clockMs() / 1000 - seen.atS))
  const isFit = (): boolean => isUp && nowMs() >= pausedUntilMs && lagS() <= deps.lagMaxS

  return {
    /** It answers, and may be asked while the primary answers, too. */
    get isFit(): boolean {
      return isFit()
    },
    /** It answered a moment ago: one late answer is no reason not to ask it when the primary is silent. */
    get isUp(): boolean {
      return nowMs() - upMs < limits.passStepMs * 5
    },
    lagS,
    /** For people: what it is, and whether it is asked. */
    status: () => ({ fit: isFit(), isStandby: seen?.isStandby ?? false, lagS: seen === undefined ? null : lagS() }),
    /** Somebody waited for it in vain: for a while nobody does while the primary answers. */
    failed(): void {
      pausedUntilMs = nowMs() + deps.pauseMs
    },
    /**
     * What passes ask: the primary; and the standby when the primary has not answered for `patienceMs`. It says nothing of another
     * database, nor to a cursor that has seen more than it has: that is what being behind looks like.
     */
    inNeed(primary: Truth, patienceMs: number, onFollowed: () => void): Truth {
      let answeredMs = -Infinity
      let furthest: Cursor | undefined
      const isBehind = (now: Cursor, known: Cursor | undefined): boolean =>
        known?.identity === now.identity && compareSnapshots(now.snapshot, known.snapshot) < 0
      return {
        ...primary,
        async changesSince(cursor) {
          const isPatient = nowMs() - answeredMs < patienceMs
          const mayFollow = cursor !== null && !isPatient && isFit()
          const asked = primary.changesSince(cursor)
          // Also when it is late: it is there, and the next pass waits for it as long as any.
          const heard = ({ next }: Changes): void => {
            answeredMs = nowMs()
            furthest = endOf(next)
          }
          asked.then(heard, () => undefined)
          try {
            // Whoever follows the standby has half of the time for each.
            return await (mayFollow ? withDeadline(asked, limits.passStepMs / 2, 'the primary') : asked)
          } catch (error) {
            if (!mayFollow || !isUnavailable(error)) throw error
            const found = await near.changesSince(cursor)
            const now = endOf(found.next)
            const isOfThis = now.identity === cursor.identity && now.version >= cursor.version
            // Of several standbys behind one address each is as far as it is.
            const follows = isOfThis && !isBehind(now, endOf(cursor)) && !isBehind(now, furthest)
            if (!follows || deps.clockMs() / 1000 - now.atS > deps.lagMaxS) throw error
            furthest = now
            onFollowed()
            return found
          }
        },
      }
    },
    stop(): void {
      stopped = true
      clearTimeout(timer)
    },
  }
}
