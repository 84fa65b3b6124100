// How much of a spool becomes one statement, and what that says.
import { cellsIn } from '../visits/batch.ts'
import { clicksIn, type Spooled } from './batch.ts'

/** Several batches become one statement after an outage: as much as Postgres does well within its deadline. */
export const batchesAtOnce = 60
const rowsAtOnce = 5000
/** What is told of visits in some seconds with as many as are looked at. */
const cellsAtOnce = 80_000

interface Merged {
  readonly from: number
  readonly to: number
  readonly clicks: number
  readonly values: readonly (readonly number[])[]
}

export function merge(batches: readonly Spooled[]): Merged {
  const sums = new Map<string, [number, number, number, number]>()
  for (const { hourMs, rows } of batches) {
    for (const [linkId, clicks, ungranted] of rows) {
      const key = `${linkId} ${hourMs}`
      const sum = sums.get(key)
      if (sum) {
        sum[2] += clicks
        sum[3] += ungranted
      } else sums.set(key, [linkId, hourMs / 1000, clicks, ungranted])
    }
  }
  const all = [...sums.values()]
  return {
    from: batches[0]?.number ?? 0,
    to: batches.at(-1)?.number ?? 0,
    clicks: batches.reduce((clicks, { rows }) => clicks + clicksIn(rows), 0),
    values: [0, 1, 2, 3].map((column) => all.map((row) => row[column] ?? 0)),
  }
}

/** Those that fit into one statement. */
export function firstOf(batches: readonly Spooled[], most: number): Spooled[] {
  const some: Spooled[] = []
  const rows = new Set<string>()
  let cells = 0
  for (const batch of batches) {
    for (const [linkId] of batch.rows) rows.add(`${linkId} ${batch.hourMs}`)
    cells += cellsIn(batch.visits)
    const isFull = some.length >= most || rows.size > rowsAtOnce || cells > cellsAtOnce
    if (some.length > 0 && isFull) break
    some.push(batch)
  }
  return some
}
