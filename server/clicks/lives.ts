// The seed's decision matrix: how long a link lives in Redis, by traffic and by how often it is changed.

const hourS = 3600
const dayS = 24 * hourS

/** Rows: more than 1,000 requests a minute, from 100 on, fewer. Columns: changed rarely, moderately, frequently. */
const matrix = [
  [dayS, hourS, hourS / 4],
  [6 * hourS, hourS, hourS / 2],
  [hourS, hourS / 2, hourS / 4],
] as const

/**
 * How often a link is changed is told by its last change: within an hour it is frequent, within a day moderate. A link
 * that never was changed (null) is not made frequent by having been created just now.
 */
export function matrixLifeS(perMinute: number, changedS: number | null): number {
  const row = matrix[perMinute > 1000 ? 0 : perMinute >= 100 ? 1 : 2]
  return row[changedS === null || changedS >= dayS ? 0 : changedS >= hourS ? 1 : 2]
}
