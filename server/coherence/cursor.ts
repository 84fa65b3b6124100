// How far a Redis, or a process, knows the truth: a Postgres snapshot, and of which database.
import { limits } from '../limits.ts'
import type { Version } from '../link.ts'
import type { Changes } from './truth.ts'

/** `to` and `after` stand in a Redis' cursor while a long list of changes is being worked off. */
export interface Cursor {
  readonly identity: string
  /** The highest version drawn when it was written: a database that draws lower ones has been restored. */
  readonly version: Version
  readonly snapshot: string
  readonly to?: string
  readonly after?: readonly [xid: string, id: number]
  readonly atS: number
  /** What was written to this Redis in these times counts as not there; the earliest first. */
  readonly lost?: Lost
}

/** From, and up to: seconds by the database's clock. */
type Span = readonly [fromS: number, toS: number]
export type Lost = readonly Span[]

/** As it stands in Redis. With `lost` it has a form that servers of the version before take for none: they would not heed it. */
export function writeCursor({ lost, ...cursor }: Cursor): string {
  return JSON.stringify(lost === undefined ? cursor : { lost, cursor })
}

/** Null for whatever a pass cannot have written: Postgres would refuse it, again and again. */
export function parseCursor(held: string | null): Cursor | null {
  try {
    const stored = JSON.parse(held ?? 'null') as Cursor | { lost: Lost; cursor: Cursor } | null
    if (typeof stored !== 'object' || stored === null) return null
    const cursor = 'cursor' in stored ? { ...stored.cursor, lost: stored.lost } : stored
    const { identity, version, snapshot, to, after, atS, lost } = cursor
    if (lost !== undefined && !(Array.isArray(lost) && lost.length > 0 && lost.every(isSpan))) return null
    const isWhole = typeof identity === 'string' && isCount(version) && isSnapshot(snapshot) && Number.isFinite(atS)
    const isUnderWay = to === undefined || isSnapshot(to)
    return isWhole && isUnderWay && (after === undefined || isPlace(after)) ? cursor : null
  } catch {
    return null
  }
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

const isSpan = (span: unknown): boolean => Array.isArray(span) && span.length === 2 && span.every(isCount)

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

/** Where the list of changes ends, of which this stands within or behind. */
export const endOf = ({ identity, version, snapshot, to, atS }: Cursor): Cursor => ({
  identity,
  version,
  snapshot: to ?? snapshot,
  atS,
})

/** What was written then is not there, or may not be: it does not say when. */
export const isLost = (lost: Lost | undefined, writtenS: number): boolean =>
  lost !== undefined && (writtenS === 0 || lost.some(([fromS, toS]) => writtenS >= fromS && writtenS < toS))

/** From then on nothing is lost. */
export const endOfLost = (lost: Lost | undefined): number => lost?.at(-1)?.[1] ?? 0

const spansMost = 4

function withSpan(before: Lost, fromS: number, toS: number): Lost {
  const apart = before.filter(([, endS]) => endS < fromS)
  const joined = before.slice(apart.length).map(([beginS]) => beginS)
  const spans: Lost = [...apart, [Math.min(fromS, ...joined), toS]]
  const [first, second, ...rest] = spans
  return spans.length > spansMost && first && second ? [[first[0], second[1]], ...rest] : spans
}

/**
 * Negative: `a` was taken before `b`. Snapshots of one database are one after the other: in the later one more
 * transactions have begun, or, of as many, more have ended.
 */
export function compareSnapshots(a: string, b: string): number {
  const [, xmaxA = '', runningA = ''] = a.split(':')
  const [, xmaxB = '', runningB = ''] = b.split(':')
  if (xmaxA !== xmaxB) return BigInt(xmaxA) < BigInt(xmaxB) ? -1 : 1
  return countOf(runningB) - countOf(runningA)
}

/** The snapshot has what this transaction did. */
export function sees(snapshot: string, xid: string): boolean {
  const [, xmax = '0', running = ''] = snapshot.split(':')
  return BigInt(xid) < BigInt(xmax) && !running.split(',').includes(xid)
}

const countOf = (list: string): number => (list === '' ? 0 : list.split(',').length)

/** This knows of transactions that have not begun. */
export const isAhead = (mine: Cursor, now: Cursor): boolean => xmaxOf(mine) > xmaxOf(now)

const xmaxOf = ({ snapshot }: Cursor): bigint => BigInt(snapshot.split(':')[1] ?? '0')

export const goneBack = 'the database has gone back'

/** Why what knows so much cannot be brought up to date by applying changes. */
export function unusable(since: Cursor | null, { next: now, ahead }: Changes): string | undefined {
  if (since === null) return undefined
  if (since.identity !== now.identity) return 'its cursor is of another database'
  if (since.version > now.version || ahead) return goneBack
  if (now.atS - since.atS > (limits.outboxHours - 1) * 3600) return 'its cursor is older than the outbox'
  return undefined
}

/** The same database, by a standby of it that took its place: of its parts (`ql_identity`) only the timeline is another. */
export function isPromotion(before: string, now: string): boolean {
  const [system, timeline, ...rest] = before.split('/')
  const [systemNow, timelineNow, ...restNow] = now.split('/')
  return system === systemNow && timeline !== timelineNow && rest.join('/') === restNow.join('/')
}

/**
 * Where a Redis goes on whose cursor is of no use for this database, and what of it is lost. After a promotion that is what was written
 * since the last heartbeat that the new primary has: all before that knew nothing but what is there, too. Otherwise it is everything.
 * `apartS`: how much clocks may differ.
 */
export function adopted(since: Cursor | null, { next, fork }: Changes, wallS: number, apartS: number): Cursor {
  const now = endOf(next)
  const follows = since !== null && fork?.identity === since.identity && isPromotion(since.identity, now.identity)
  const fromS = follows ? Math.max(0, Math.floor(fork.atS) - apartS) : 0
  // Clocks may be wrong, also that of the database. A cursor that nothing moves is a while behind what is written under it.
  const sinceS = since === null ? 0 : since.atS + limits.cursorIdleS
  const toS = Math.max(Math.ceil(Math.max(now.atS, wallS, sinceS)) + apartS, endOfLost(since?.lost) + 1)
  const lost = withSpan(since?.lost ?? [], fromS, toS)
  if (!follows) return { ...now, lost }
  // Transactions that were lost had ids that others have now: nobody goes on from a snapshot that has seen them.
  const { snapshot, atS } = compareSnapshots(since.snapshot, fork.snapshot) > 0 ? fork : since
  return { ...now, snapshot, atS, lost }
}
