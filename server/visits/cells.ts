// The values of one dimension in one row, and how often each came: as they are added up, and as Postgres keeps them.
//
//   1, then for each value: the bytes of its text (their number first), its total, its people     numbers in 7 bits a byte, the lowest first
//
// The text stands in the row itself. A dictionary would save half of the bytes, and need rows that all who write share.
import { otherValue } from './batch.ts'

export interface Count {
  total: number
  people: number
}

/** By their values. */
export type Cells = Map<string, Count>

export const cellsOf = (): Cells => new Map()

const form = 1
const longestNumber = 8

export function add(cells: Cells, value: string, total: number, people: number): void {
  const count = cells.get(value)
  if (count) {
    count.total += total
    count.people += people
  } else cells.set(value, { total, people })
}

export function addAll(cells: Cells, more: Cells): void {
  for (const [value, { total, people }] of more) add(cells, value, total, people)
}

/**
 * The most frequent of them; what the others add up to is `(other)`. Of those that came equally often the first stay: whoever puts what has
 * just come first keeps a flood of values that come once from filling the day.
 */
export function cut(cells: Cells, most: number): Cells {
  if (cells.size <= most) return cells
  const values = [...cells].filter(([value]) => value !== otherValue).sort(([, a], [, b]) => b.total - a.total)
  const kept = new Map(values.slice(0, most))
  for (const [, { total, people }] of values.slice(most)) add(kept, otherValue, total, people)
  const other = cells.get(otherValue)
  if (other) add(kept, otherValue, other.total, other.people)
  return kept
}

export function pack(cells: Cells): Buffer {
  let longest = 1
  for (const value of cells.keys()) longest += 3 * value.length + 3 * longestNumber
  const bytes = Buffer.allocUnsafe(longest)
  bytes[0] = form
  let at = 1
  const put = (n: number): void => {
    for (; n >= 128; n = Math.floor(n / 128)) bytes[at++] = (n % 128) | 128
    bytes[at++] = n
  }
  for (const [value, { total, people }] of cells) {
    put(Buffer.byteLength(value))
    at += bytes.write(value, at)
    put(total)
    put(people)
  }
  return bytes.subarray(0, at)
}

/** Adds what a row has. One that is none of ours says nothing. */
export function unpack(bytes: Buffer | null, into: Cells = new Map()): Cells {
  if (bytes?.[0] !== form) return into
  let at = 1
  const take = (): number => {
    let n = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++] ?? 0
      n += (byte & 127) * scale
      if (byte < 128) return n
    }
  }
  while (at < bytes.length) {
    const length = take()
    const value = bytes.toString('utf8', at, at + length)
    at += length
    add(into, value, take(), take())
  }
  return into
}
