// Latency at constant rates, of QuickLink beside the bare socket. The generator is a process of ours (open-loop-run.ts) on
// the core that is its own. The two take turns in slices of a quarter of a second: driven at once, they would share the
// server's core, and each would wait for the other; driven one after the other, whole runs apart, what neighbours on
// the machine do in one run would be held against one of them.
import type { Arena } from './arena.ts'
import { pinned } from '../measure/cpu.ts'
import { spreadOf, type Spread } from '../measure/stats.ts'
import { run } from './driver.ts'
import type { OpenLoopRow, SubjectResult } from './results.ts'
import { bytesOf } from './loads.ts'
import type { Subject } from './subjects.ts'

export interface OpenLoopOrder {
  readonly servers: readonly { readonly port: number; readonly request: string }[]
  readonly rate: number
  /** Of each server. */
  readonly slices: number
  readonly sliceMs: number
  readonly connections: number
}

export interface OpenLoopAnswer {
  readonly servers: readonly {
    readonly achieved: number
    readonly p50Ms: number
    readonly p99Ms: number
    readonly p99BySlice: readonly number[]
    readonly p999Ms: number
    readonly maxMs: number
    readonly failed: number
  }[]
  readonly generatorBusy: number
}

const shares = [0.25, 0.5, 0.75, 0.9] as const
/** No part or multiple of what a server does by the clock (5 passes a second), so that it falls into all slices alike. */
const sliceMs = 270
/** Five seconds of each server. */
const slices = 18
const repetitions = 3

interface Cell {
  readonly subject: Subject
  readonly door: string
  readonly share: number
  readonly rate: number
  readonly answers: OpenLoopAnswer[]
}

export async function measureOpenLoop(
  arena: Arena,
  subjects: readonly Subject[],
  results: Readonly<Record<string, SubjectResult>>,
  say: (line: string) => void,
): Promise<OpenLoopRow[]> {
  const floor = subjects.find(({ name }) => name === 'net')
  if (floor === undefined) return []
  const cells = cellsOf(subjects, results)
  for (let n = 1; n <= repetitions; n++) {
    for (const { subject, door, rate, answers } of cells) {
      const answer = await atRate(arena, [subject, floor], rate)
      answers.push(answer)
      const [ours, bare] = answer.servers.map(({ p50Ms, p99Ms }) => `p50 ${p50Ms} ms, p99 ${p99Ms} ms`)
      const busy = Math.round(100 * answer.generatorBusy)
      say(`${n}/${repetitions}  open loop, ${door}, ${rate}/s: ${ours}; bare socket ${bare} (generator ${busy} % busy)`)
    }
  }
  return cells.map(({ door, share, rate, answers }) => ({ door, share, rate, ...together(answers) }))
}

function cellsOf(subjects: readonly Subject[], results: Readonly<Record<string, SubjectResult>>): Cell[] {
  const doors = { raw: 'raw', frontHttp: 'http' }
  return Object.entries(doors).flatMap(([name, door]) => {
    const subject = subjects.find((each) => each.name === name)
    const capacity = results[name]?.rps.median
    if (subject === undefined || capacity === undefined) return []
    return shares.map((share) => ({ subject, door, share, rate: Math.round(capacity * share), answers: [] }))
  })
}

export function together(answers: readonly OpenLoopAnswer[]): Omit<OpenLoopRow, 'door' | 'share' | 'rate'> {
  const of = (server: 0 | 1, figure: (one: OpenLoopAnswer['servers'][number]) => number): Spread =>
    spreadOf(answers.map(({ servers }) => figure(servers[server] as OpenLoopAnswer['servers'][number])))
  const slicesOf = (server: 0 | 1): number[] => answers.flatMap(({ servers }) => servers[server]?.p99BySlice ?? [])
  const [ours, floor] = [slicesOf(0), slicesOf(1)]
  const p99 = of(0, ({ p99Ms }) => p99Ms)
  return {
    achieved: of(0, ({ achieved }) => achieved).median,
    p50Ms: of(0, ({ p50Ms }) => p50Ms).median,
    p99Ms: p99.median,
    p999Ms: of(0, ({ p999Ms }) => p999Ms).median,
    usualP99Ms: spreadOf(ours).median,
    p99BetweenMs: [p99.min, p99.max],
    maxMs: of(0, ({ maxMs }) => maxMs).max,
    floorP50Ms: of(1, ({ p50Ms }) => p50Ms).median,
    floorP99Ms: of(1, ({ p99Ms }) => p99Ms).median,
    floorUsualP99Ms: spreadOf(floor).median,
    p99ToFloor: spreadOf(ours.map((ms, slice) => ms / (floor[slice] ?? NaN))).median,
    failed: of(0, ({ failed }) => failed).max,
    generatorBusy: spreadOf(answers.map(({ generatorBusy }) => generatorBusy)).max,
  }
}

/** One generator process; more of them would have to be merged, and one core is what most machines can spare. */
export async function atRate(arena: Arena, subjects: readonly Subject[], rate: number): Promise<OpenLoopAnswer> {
  const servers = subjects.map(({ server, load }) => {
    const { host, port } = new URL(server.url)
    const { before, after } = bytesOf(load, host)
    return { port: Number(port), request: before + after }
  })
  const order: OpenLoopOrder = { servers, rate, slices, sliceMs, connections: 64 }
  const file = new URL('open-loop-run.ts', import.meta.url).pathname
  const command = [process.execPath, '--no-warnings', file, JSON.stringify(order)]
  return JSON.parse(await run(pinned(command, arena.cores?.generator))) as OpenLoopAnswer
}
