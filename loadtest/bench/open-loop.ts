// Latency at constant rates, of QuickLink beside the bare socket. The two take turns in slices of a quarter of a second:
// driven at once, they would share the server's core, and each would wait for the other; driven one after the other, whole
// runs apart, what neighbours on the machine do in one run would be held against one of them.
import type { Check } from '../report/report.ts'
import { checkOf, type Chart, type Table } from '../report/report.ts'
import { short } from '../report/text.ts'
import { spreadOf, type Spread } from '../measure/stats.ts'
import type { Arena } from './arena.ts'
import { drive, type Driven, type DriverResult } from './driver.ts'
import type { Subject, SubjectResult } from './subjects.ts'

/** Of what a closed loop gets answered. The last is more than can be. */
const shares = [0.25, 0.5, 0.75, 0.9, 1.1] as const
/** No part or multiple of what a server does by the clock (5 passes a second), so that it falls into all slices alike. */
const sliceMs = 270
/** Five seconds of each server. */
const slices = 18
const repetitions = 3
/** From here on, the generator had no time to be on time. */
const tooBusy = 0.95

interface Row {
  readonly what: string
  /** Of the capacity that the closed loop measured. */
  readonly share: number
  readonly rate: number
  readonly ours: Both
  /** The bare socket, where it answers the same. */
  readonly floor: Both | undefined
  /** p99 ÷ that of the bare socket in the slice next to it, the median of all slices. */
  readonly p99ToFloor: number
  readonly generatorBusy: number
}

/** Subjects, and the floor of each. What is cold comes from Postgres, each time. */
const asked = [
  { name: 'raw', what: 'hot: one link', floor: 'net' },
  { name: 'zipf', what: 'Zipf over 2,000 links', floor: 'net zipf' },
  { name: 'tier3', what: 'cold: each link from Postgres', floor: undefined },
] as const
const hot = asked[0].what

/** Of all repetitions. */
interface Both {
  readonly of: (figure: (driven: Driven) => number) => Spread
  /** Of all slices, the median of their p99: a stall of the machine is in one slice only. */
  readonly usualP99Ms: number
}

export async function measureOpenLoop(
  arena: Arena,
  subjects: readonly Subject[],
  results: Readonly<Record<string, SubjectResult>>,
  say: (line: string) => void,
): Promise<Row[]> {
  const cells = asked.flatMap(({ name, what, floor }) => {
    const found = [name, floor].map((wanted) => subjects.find((each) => each.name === wanted))
    const capacity = results[name]?.rps.median
    if (found[0] === undefined || capacity === undefined) return []
    const servers = found.flatMap((subject) => (subject ? [{ url: subject.server.url, load: subject.load }] : []))
    return shares.map((share) => ({ what, share, rate: Math.round(capacity * share), servers, seen: [] as DriverResult[] }))
  }) // prettier-ignore
  for (let n = 1; n <= repetitions; n++) {
    for (const { what, rate, servers, seen } of cells) {
      const one = await drive({ servers, rate, slices, sliceMs, connections: 64 }, arena.cores?.generator)
      seen.push(one)
      const [ours, bare] = one.servers.map(({ p50Ms, p99Ms }) => `p50 ${p50Ms} ms, p99 ${p99Ms} ms`)
      const beside = bare === undefined ? '' : `; bare socket ${bare}`
      const busy = Math.round(100 * one.generatorBusy)
      say(`${n}/${repetitions}  open loop, ${what}, ${rate}/s: ${ours}${beside} (generator ${busy} % busy)`)
    }
  }
  return cells.map(({ what, share, rate, seen }) => ({ what, share, rate, ...together(seen) }))
}

export function together(seen: readonly DriverResult[]): Omit<Row, 'what' | 'share' | 'rate'> {
  const of = (server: 0 | 1): (Both & { p99s: number[] }) | undefined => {
    const all = seen.flatMap(({ servers }) => servers[server] ?? [])
    if (all.length === 0) return undefined
    const p99s = all.flatMap(({ p99BySlice }) => p99BySlice)
    return { of: (figure) => spreadOf(all.map(figure)), p99s, usualP99Ms: spreadOf(p99s).median }
  }
  const [ours, floor] = [of(0)!, of(1)]
  return {
    ours,
    floor,
    p99ToFloor: floor ? spreadOf(ours.p99s.map((ms, slice) => ms / (floor.p99s[slice] ?? NaN))).median : NaN,
    generatorBusy: spreadOf(seen.map(({ generatorBusy }) => generatorBusy)).max,
  }
}

export const openLoopCheck = (rows: readonly Row[]): Check =>
  checkOf(
    'tier-1 hit, p99 at half of the capacity ÷ the bare socket in the same seconds',
    rows.find(({ share, what }) => share === 0.5 && what === hot)?.p99ToFloor ?? NaN,
    { atMost: 1.5 },
  )

/** What is due is answered, and hardly anybody waits: so much, and no more, can be asked of it. */
const kneeMs = 10
const answeredShare = 0.99

/** The highest of the rates that one would want; undefined where even the lowest was too much. */
export function kneeOf(rows: readonly Row[], wanted: string): number | undefined {
  const good = ({ rate, ours }: Row): boolean =>
    ours.of(({ p99Ms }) => p99Ms).median <= kneeMs &&
    ours.of(({ requests, seconds }) => requests / seconds).median >= rate * answeredShare
  const some = rows.filter(({ what }) => what === wanted)
  const until = some.findIndex((row) => !good(row))
  return some[(until === -1 ? some.length : until) - 1]?.rate
}

const said = (rows: readonly Row[]): string[] =>
  [...new Set(rows.map(({ what }) => what))].map((what) => {
    const knee = kneeOf(rows, what)
    return `${what}: ${knee === undefined ? 'below all of these rates' : `${short(knee)}/s`}`
  })

export function openLoopTable(rows: readonly Row[]): Table {
  const late = rows.some(({ generatorBusy }) => generatorBusy > tooBusy)
  return {
    title: 'Latency at a constant rate',
    note:
      'Open loop: each request is due at its own time, and its latency counts from then on, whenever it could be sent. ' +
      'QuickLink and the bare socket take turns at the same rate, a quarter of a second each, five seconds in all. Medians of ' +
      'three runs; in brackets the best and the worst; the p99 of a usual slice is the median of all slices of all runs, and ' +
      `the ratio is that of slices next to each other. The knee, the highest of these rates with a p99 within ${kneeMs} ms and ` +
      `everybody answered: ${said(rows).join('; ')}.` +
      (late ? ' In rows with *, the generator had no time left itself: they say little about the server, which was faster than that.' : ''),
    head: ['what comes', 'of the capacity', 'rate/s', 'answered/s', 'p50 ms (bare socket)', 'p99 ms (bare socket)', 'of a usual slice', '÷ bare socket, slice by slice', 'p99.9 ms', 'longest ms', 'generator busy', 'failed'],
    rows: rows.map(({ what, share, rate, ours, floor, p99ToFloor, generatorBusy }) => {
      const beside = (figure: (of: Both) => number): string => (floor === undefined ? '' : ` (${short(figure(floor))})`)
      const p50 = ({ of }: Both): number => of(({ p50Ms }) => p50Ms).median
      const p99 = ({ of }: Both): Spread => of(({ p99Ms }) => p99Ms)
      const usual = ({ usualP99Ms }: Both): number => usualP99Ms
      return [
        `${what}${generatorBusy > tooBusy ? ' *' : ''}`,
        `${Math.round(100 * share)} %`,
        short(rate),
        short(ours.of(({ requests, seconds }) => requests / seconds).median),
        `${short(p50(ours))}${beside(p50)}`,
        `${short(p99(ours).median)} [${short(p99(ours).min)}, ${short(p99(ours).max)}]${beside((of) => p99(of).median)}`,
        `${short(usual(ours))}${beside(usual)}`,
        short(p99ToFloor),
        short(ours.of(({ p999Ms }) => p999Ms).median),
        short(ours.of(({ maxMs }) => maxMs).max),
        `${Math.round(100 * generatorBusy)} %`,
        ours.of(({ failed }) => failed).max,
      ]
    }),
  }
} // prettier-ignore

const drawn = { p50: 'p50Ms', p99: 'p99Ms', 'p99.9': 'p999Ms' } as const

/** One for each of what comes. README shows them. */
export const latencyCharts = (rows: readonly Row[]): Chart[] =>
  [...new Set(rows.map(({ what }) => what))].map((wanted) => ({
    title: `Latency from the intended start, against a constant rate; ${wanted}`,
    unit: 'ms',
    against: '/s',
    logarithmic: true,
    series: Object.entries(drawn).map(([name, key]) => ({
      name: `${wanted}, ${name}`,
      points: rows
        .filter(({ what }) => what === wanted)
        .map(({ rate, ours }) => [rate, ours.of((driven) => driven[key]).median] as const),
    })),
  }))
