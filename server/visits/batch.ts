// What a line of the click spool says of visits, and what is made of several lines for Postgres.
import { setImmediate } from 'node:timers/promises'
import type { Sql } from '../connections/postgres.ts'
import { decode, merge, type Registers } from './hyperloglog.ts'

/** By number in the spool and in Postgres: only ever added to. */
export const dimensions = [
  'referrer', 'utm_source', 'utm_medium', 'utm_campaign', 'country', 'browser', 'os', 'device', 'language', 'bot', 'target',
] as const // prettier-ignore
export type Dimension = (typeof dimensions)[number]

/** What a bound has cut. No value that a visitor sends begins so. */
export const otherValue = '(other)'
/** UTF-16 units of a value. */
export const longestValue = 64

export type Cell = readonly [dimension: number, value: string, total: number, people: number]

/**
 * One link in one hour. In every dimension the cells' totals, what is withheld, and what is unknown add up to the total;
 * unknown is never a cell: it is what is left. The same holds for people.
 */
export interface LinkVisits {
  readonly linkId: number
  /** Its clicks. */
  readonly total: number
  /** Without bots, previews and prefetches. */
  readonly people: number
  /** Of the people: those who do not want to be counted further. */
  readonly withheld: number
  /** Visits that were looked at. Fewer than the total: the others are told by weights. */
  readonly detailed: number
  /** Its visitors are a lower bound. */
  readonly atLeast: boolean
  /** Of the UTC day that the hour is in. */
  readonly visitors: Registers | undefined
  readonly cells: readonly Cell[]
}

export interface HourOfVisits {
  readonly hourMs: number
  readonly links: readonly LinkVisits[]
}

/** Writes what has come, in the transaction that counts the clicks. */
export type Fold = (sql: Sql, hours: readonly HourOfVisits[]) => Promise<void>

/** In the spool: each value once, and cells as numbers: value, total, people. */
export interface Packed {
  readonly values: readonly (readonly [dimension: number, value: string])[]
  readonly links: readonly PackedLink[]
}
type PackedLink = readonly [
  linkId: number,
  total: number,
  people: number,
  withheld: number,
  detailed: number,
  atLeast: 0 | 1,
  visitors: string,
  cells: readonly number[],
]

export function pack(links: readonly LinkVisits[]): Packed {
  const places = new Map<string, number>()
  const values: [number, string][] = []
  const placeOf = (dimension: number, value: string): number => {
    const key = `${dimension} ${value}`
    const place = places.get(key) ?? values.push([dimension, value]) - 1
    places.set(key, place)
    return place
  }
  const packed = links.map((link): PackedLink => {
    const { linkId, total, people, withheld, detailed, atLeast, visitors } = link
    const cells = link.cells.flatMap(([dimension, value, ...counts]) => [placeOf(dimension, value), ...counts])
    const text = visitors === undefined ? '' : Buffer.from(visitors).toString('base64')
    return [linkId, total, people, withheld, detailed, atLeast ? 1 : 0, text, cells]
  })
  return { values, links: packed }
}

/** What is left when there is no room: totals and people. */
export const withoutBreakdowns = ({ links }: Packed): Packed => ({
  values: [],
  links: links.map(([linkId, total, people]) => [linkId, total, people, 0, 0, 1, '', []]),
})

/** Visits whose breakdown it has. */
export const detailedIn = (packed: Packed | undefined): number =>
  unpack(packed).reduce((sum, { detailed }) => sum + detailed, 0)

/** About how much it is to write. */
export function cellsIn(packed: Packed | undefined): number {
  const { links } = (packed ?? {}) as Partial<Record<string, unknown>>
  if (!Array.isArray(links)) return 0
  return links.reduce<number>((sum, link) => {
    const cells: unknown = Array.isArray(link) ? link[7] : undefined
    return sum + (Array.isArray(cells) ? cells.length / 3 : 0)
  }, 0)
}

/** A file may hold anything: of a link whose figures can be none nothing is taken, of cells that do not add up none. */
export function unpack(packed: Packed | undefined): LinkVisits[] {
  const { values, links } = (packed ?? {}) as Partial<Packed>
  if (!Array.isArray(values) || !Array.isArray(links)) return []
  const known = values.map(valueOf)
  return links.flatMap((link: PackedLink) => {
    if (!Array.isArray(link) || (link as unknown[]).length < 8 || !link.slice(0, 6).every(isCount)) return []
    const [linkId, total, people, withheld, detailed, atLeast, text, numbers] = link
    if (people > total || withheld > people || detailed > total) return []
    const visitors = typeof text === 'string' && text !== '' ? Buffer.from(text, 'base64') : undefined
    const cells = cellsOf(numbers, known)
    return [
      {
        linkId, total, people, withheld, detailed,
        atLeast: atLeast === 1,
        visitors: visitors && decode(visitors) ? visitors : undefined,
        cells: addUp(cells, total - withheld, people - withheld) ? cells : [],
      },
    ] // prettier-ignore
  })
}

type Value = Packed['values'][number]

function valueOf(said: unknown): Value | undefined {
  const [dimension, value] = Array.isArray(said) ? (said as unknown[]) : []
  return typeof dimension === 'number' && dimension in dimensions && isValue(value) ? [dimension, value] : undefined
}

function cellsOf(numbers: unknown, values: readonly (Value | undefined)[]): Cell[] {
  const cells: Cell[] = []
  if (!Array.isArray(numbers) || !numbers.every(isCount)) return cells
  for (let at = 0; at + 2 < numbers.length; at += 3) {
    const known = values[numbers[at] as number]
    if (known === undefined) continue
    const [dimension, value] = known
    cells.push([dimension, value, numbers[at + 1] as number, numbers[at + 2] as number])
  }
  return cells
}

function addUp(cells: readonly Cell[], total: number, people: number): boolean {
  const sums = dimensions.map(() => [0, 0] as [number, number])
  for (const [dimension, , cellTotal, cellPeople] of cells) {
    const sum = sums[dimension]!
    sum[0] += cellTotal
    sum[1] += cellPeople
    if (cellPeople > cellTotal) return false
  }
  return sums.every(([all, some]) => all <= total && some <= people)
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0
const isValue = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longestValue && cleaned(value) === value

/** As Postgres takes it and a page shows it. */
export const cleaned = (text: string): string =>
  text
    .slice(0, longestValue)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\u{2028}\u{2029}]/gu, '')
    .trim()

/** One entry per hour, in it one per link, in that one per value. Between batches redirects get their turn. */
export async function merged(
  batches: readonly { hourMs: number; visits?: Packed | undefined }[],
): Promise<HourOfVisits[]> {
  const hours = new Map<number, Map<number, LinkVisits>>()
  for (const { hourMs, visits } of batches) {
    for (const link of unpack(visits)) {
      const links = hours.get(hourMs) ?? new Map<number, LinkVisits>()
      hours.set(hourMs, links)
      const before = links.get(link.linkId)
      links.set(link.linkId, before === undefined ? link : together(before, link))
    }
    await setImmediate()
  }
  return Array.from(hours, ([hourMs, links]) => ({ hourMs, links: [...links.values()] }))
}

function together(a: LinkVisits, b: LinkVisits): LinkVisits {
  const cells = new Map<string, Cell>()
  for (const cell of [...a.cells, ...b.cells]) {
    const [dimension, value, total, people] = cell
    const before = cells.get(`${dimension} ${value}`)
    const sum: Cell = [dimension, value, total + (before?.[2] ?? 0), people + (before?.[3] ?? 0)]
    cells.set(`${dimension} ${value}`, sum)
  }
  return {
    linkId: a.linkId,
    total: a.total + b.total,
    people: a.people + b.people,
    withheld: a.withheld + b.withheld,
    detailed: a.detailed + b.detailed,
    atLeast: a.atLeast || b.atLeast,
    visitors: a.visitors && b.visitors ? merge(a.visitors, b.visitors) : (a.visitors ?? b.visitors),
    cells: [...cells.values()],
  }
}
