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

const shares = [0.25, 0.5, 0.75, 0.9] as const
/** No part or multiple of what a server does by the clock (5 passes a second), so that it falls into all slices alike. */
const sliceMs = 270
/** Five seconds of each server. */
const slices = 18
const repetitions = 3
/** From here on, the generator had no time to be on time. */
const tooBusy = 0.95

interface Row {
  readonly door: string
  /** Of the capacity that the closed loop measured. */
  readonly share: number
  readonly rate: number
  /** QuickLink and the bare socket. */
  readonly ours: Both
  readonly floor: Both
  /** p99 ÷ that of the bare socket in the slice next to it, the median of all slices. */
  readonly p99ToFloor: number
  readonly generatorBusy: number
}

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
  const doors = { raw: 'raw', frontHttp: 'http' }
  const floor = subjects.find(({ name }) => name === 'net')
  const cells = Object.entries(doors).flatMap(([name, door]) => {
    const subject = subjects.find((each) => each.name === name)
    const capacity = results[name]?.rps.median
    if (floor === undefined || subject === undefined || capacity === undefined) return []
    const servers = [subject, floor].map(({ server: { url }, load }) => ({ url, load }))
    return shares.map((share) => ({
      door,
      share,
      rate: Math.round(capacity * share),
      servers,
      seen: [] as DriverResult[],
    }))
  })
  for (let n = 1; n <= repetitions; n++) {
    for (const { door, rate, servers, seen } of cells) {
      const one = await drive({ servers, rate, slices, sliceMs, connections: 64 }, arena.cores?.generator)
      seen.push(one)
      const [ours, bare] = one.servers.map(({ p50Ms, p99Ms }) => `p50 ${p50Ms} ms, p99 ${p99Ms} ms`)
      const busy = Math.round(100 * one.generatorBusy)
      say(`${n}/${repetitions}  open loop, ${door}, ${rate}/s: ${ours}; bare socket ${bare} (generator ${busy} % busy)`)
    }
  }
  return cells.map(({ door, share, rate, seen }) => ({ door, share, rate, ...together(seen) }))
}

export function together(seen: readonly DriverResult[]): Omit<Row, 'door' | 'share' | 'rate'> {
  const of = (server: 0 | 1): Both & { p99s: number[] } => {
    const all = seen.flatMap(({ servers }) => servers[server] ?? [])
    const p99s = all.flatMap(({ p99BySlice }) => p99BySlice)
    return { of: (figure) => spreadOf(all.map(figure)), p99s, usualP99Ms: spreadOf(p99s).median }
  }
  const [ours, floor] = [of(0), of(1)]
  return {
    ours,
    floor,
    p99ToFloor: spreadOf(ours.p99s.map((ms, slice) => ms / (floor.p99s[slice] ?? NaN))).median,
    generatorBusy: spreadOf(seen.map(({ generatorBusy }) => generatorBusy)).max,
  }
}

export const openLoopCheck = (rows: readonly Row[]): Check =>
  checkOf(
    'tier-1 hit, p99 at half of the capacity ÷ the bare socket in the same seconds',
    rows.find(({ share, door }) => share === 0.5 && door === 'raw')?.p99ToFloor ?? NaN,
    { atMost: 1.5 },
  )

export function openLoopTable(rows: readonly Row[]): Table {
  const late = rows.some(({ generatorBusy }) => generatorBusy > tooBusy)
  return {
    title: 'Latency at a constant rate',
    note:
      'Open loop: each request is due at its own time, and its latency counts from then on, whenever it could be sent. ' +
      'QuickLink and the bare socket take turns at the same rate, a quarter of a second each, five seconds in all. Medians of ' +
      'three runs; in brackets the best and the worst; the p99 of a usual slice is the median of all slices of all runs, and ' +
      'the ratio is that of slices next to each other.' +
      (late ? ' In rows with *, the generator had no time left itself: they say little about the server, which was faster than that.' : ''),
    head: ['front door', 'of the capacity', 'rate/s', 'answered/s', 'p50 ms (bare socket)', 'p99 ms (bare socket)', 'of a usual slice', '÷ bare socket, slice by slice', 'p99.9 ms', 'longest ms', 'generator busy', 'failed'],
    rows: rows.map(({ door, share, rate, ours, floor, p99ToFloor, generatorBusy }) => {
      const p99 = ours.of(({ p99Ms }) => p99Ms)
      const p50s = [ours, floor].map(({ of }) => short(of(({ p50Ms }) => p50Ms).median))
      return [
        `${door}${generatorBusy > tooBusy ? ' *' : ''}`,
        `${Math.round(100 * share)} %`,
        short(rate),
        short(ours.of(({ requests, seconds }) => requests / seconds).median),
        `${p50s[0]} (${p50s[1]})`,
        `${short(p99.median)} [${short(p99.min)}, ${short(p99.max)}] (${short(floor.of(({ p99Ms }) => p99Ms).median)})`,
        `${short(ours.usualP99Ms)} (${short(floor.usualP99Ms)})`,
        short(p99ToFloor),
        short(ours.of(({ p999Ms }) => p999Ms).median),
        short(ours.of(({ maxMs }) => maxMs).max),
        `${Math.round(100 * generatorBusy)} %`,
        ours.of(({ failed }) => failed).max,
      ]
    }),
  }
} // prettier-ignore

/** README shows it. */
export const latencyChart = (rows: readonly Row[]): Chart => ({
  title: 'Latency from the intended start, against a constant rate',
  unit: 'ms',
  against: '/s',
  logarithmic: true,
  series: [...new Set(rows.map(({ door }) => door))].flatMap((door) =>
    [0.5, 0.99].map((share) => ({
      name: `${door}, p${100 * share}`,
      points: rows
        .filter((row) => row.door === door)
        .map(
          ({ rate, ours }) => [rate, ours.of(({ p50Ms, p99Ms }) => (share === 0.5 ? p50Ms : p99Ms)).median] as const,
        ),
    })),
  ),
})
