// Latency at constant rates. The generators are processes of ours (open-loop-run.ts), one per core that is theirs.
import type { Arena } from './arena.ts'
import { pinned } from '../measure/cpu.ts'
import { spreadOf, type Spread } from '../measure/stats.ts'
import { run } from './generator.ts'
import type { OpenLoopRow, SubjectResult } from './results.ts'
import { bytesOf } from './loads.ts'
import type { Subject } from './subjects.ts'

export interface OpenLoopOrder {
  readonly port: number
  readonly request: string
  readonly rate: number
  readonly seconds: number
  readonly connections: number
}

export type OpenLoopAnswer = Omit<OpenLoopRow, 'door' | 'share' | 'rate' | 'usualP99Ms' | 'p99BetweenMs'> & {
  readonly p99BySecond: readonly number[]
}

const shares = [0.25, 0.5, 0.75, 0.9] as const
const seconds = 5
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
  const cells = cellsOf(subjects, results)
  for (let n = 1; n <= repetitions; n++) {
    for (const { subject, door, rate, answers } of cells) {
      const answer = await atRate(arena, subject, rate)
      answers.push(answer)
      const busy = Math.round(100 * answer.generatorBusy)
      say(
        `${n}/${repetitions}  open loop, ${door}, ${rate}/s: p50 ${answer.p50Ms} ms, p99 ${answer.p99Ms} ms (generator ${busy} % busy)`,
      )
    }
  }
  return cells.map(({ door, share, rate, answers }) => ({ door, share, rate, ...together(answers) }))
}

function cellsOf(subjects: readonly Subject[], results: Readonly<Record<string, SubjectResult>>): Cell[] {
  // The floor gets the front door's rates: what it shows there is the machine's and the generator's, not QuickLink's.
  const doors = [
    { name: 'net', door: 'none (raw `net`)', ofName: 'raw' },
    { name: 'raw', door: 'raw', ofName: 'raw' },
    { name: 'frontHttp', door: 'http', ofName: 'frontHttp' },
  ]
  return doors.flatMap(({ name, door, ofName }) => {
    const subject = subjects.find((each) => each.name === name)
    const capacity = results[ofName]?.rps.median
    if (subject === undefined || capacity === undefined) return []
    return shares.map((share) => ({ subject, door, share, rate: Math.round(capacity * share), answers: [] }))
  })
}

export function together(answers: readonly OpenLoopAnswer[]): Omit<OpenLoopRow, 'door' | 'share' | 'rate'> {
  const of = (figure: (answer: OpenLoopAnswer) => number): Spread => spreadOf(answers.map(figure))
  const p99 = of(({ p99Ms }) => p99Ms)
  return {
    achieved: of(({ achieved }) => achieved).median,
    p50Ms: of(({ p50Ms }) => p50Ms).median,
    p99Ms: p99.median,
    p999Ms: of(({ p999Ms }) => p999Ms).median,
    usualP99Ms: spreadOf(answers.flatMap(({ p99BySecond }) => p99BySecond)).median,
    p99BetweenMs: [p99.min, p99.max],
    maxMs: of(({ maxMs }) => maxMs).max,
    failed: answers.reduce((sum, { failed }) => sum + failed, 0),
    generatorBusy: of(({ generatorBusy }) => generatorBusy).max,
  }
}

/** One generator process; more of them would have to be merged, and one core is what most machines can spare. */
async function atRate(arena: Arena, { server, load }: Subject, rate: number): Promise<OpenLoopAnswer> {
  const { host, port } = new URL(server.url)
  const { before, after } = bytesOf(load, host)
  const order: OpenLoopOrder = { port: Number(port), request: before + after, rate, seconds, connections: 64 }
  const file = new URL('open-loop-run.ts', import.meta.url).pathname
  const command = [process.execPath, '--no-warnings', file, JSON.stringify(order)]
  return JSON.parse(await run(pinned(command, arena.cores?.generator))) as OpenLoopAnswer
}
