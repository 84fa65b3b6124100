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
}

/** Null for whatever a pass cannot have written: Postgres would refuse it, again and again. */
export function parseCursor(held: string | null): Cursor | null {
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

/** Where the list of changes ends, of which this stands within or behind. */
export const endOf = ({ identity, version, snapshot, to, atS }: Cursor): Cursor => ({
  identity,
  version,
  snapshot: to ?? snapshot,
  atS,
})

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
