// A batch of clicks, and the line that it is in a spool file.
import { crc32 } from 'node:zlib'
import type { Packed } from '../visits/batch.ts'

/** Link, clicks, and how many of its hits nobody had granted. */
export type Row = readonly [linkId: number, clicks: number, ungranted: number]

export interface Batch {
  /** The hour that the clicks belong to, in Unix milliseconds. */
  readonly hourMs: number
  readonly rows: readonly Row[]
  /** Clicks given up since the last batch. */
  readonly dropped: number
  /** What is told of these clicks besides. Versions before do not know of it, and pass it over. */
  readonly visits?: Packed
}

/** All clicks of a spool, from its first batch on. */
export interface Totals {
  readonly accepted: number
  readonly dropped: number
}

export interface Spooled extends Batch {
  /** Counts up from 1 within a spool. */
  readonly number: number
  /** This batch included. */
  readonly totals: Totals
  /** Until when its clicks were counted, by the clock of whoever did, in Unix milliseconds. */
  readonly atMs?: number
  /** Clicks in rows with impossible figures. They are left out: Postgres would refuse the whole statement. Not on disk. */
  readonly impossible?: number
}

export const clicksIn = (rows: readonly Row[]): number => rows.reduce((sum, [, clicks]) => sum + clicks, 0)
export const isEmpty = (batch: Batch): boolean => batch.rows.length === 0 && batch.dropped === 0

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

export function toLine(batch: Spooled): string {
  const json = batch.visits === undefined ? JSON.stringify(batch) : inAscii(JSON.stringify(batch))
  return `${checksum(json)} ${json}\n`
}

/** A byte per character, as files are read. */
const inAscii = (json: string): string =>
  json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Undefined: torn or damaged. */
export function fromLine(line: string): Spooled | undefined {
  const json = line.slice(9)
  if (line[8] !== ' ' || line.slice(0, 8) !== checksum(json)) return undefined
  const batch = JSON.parse(json) as Spooled
  if (!isBatch(batch)) return undefined
  const rows = batch.rows.filter((row) => row.every(isCount))
  if (rows.length === batch.rows.length) return batch
  return { ...batch, rows, impossible: clicksIn(batch.rows) - clicksIn(rows) }
}

/** What its clicks add up to is right, whatever else its rows are. */
function isBatch({ number, hourMs, dropped, totals, rows }: Partial<Spooled>): boolean {
  const counts = [number, hourMs, dropped, totals?.accepted, totals?.dropped]
  const rowsCount =
    Array.isArray(rows) && rows.every((row) => Array.isArray(row) && row.length === 3 && isCount(row[1]))
  return rowsCount && counts.every(isCount) && (hourMs ?? 0) <= lastHourMs
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
/** The last that a Date can say, and Postgres with it. */
const lastHourMs = 8.64e15
