// Latency at constant rates. The generators are processes of ours (open-loop-run.ts), one per core that is theirs.
import type { Arena } from './arena.ts'
import { pinned } from '../measure/cpu.ts'
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

export type OpenLoopAnswer = Omit<OpenLoopRow, 'door' | 'share' | 'rate'>

const shares = [0.25, 0.5, 0.75, 0.9] as const
const seconds = 8

export async function measureOpenLoop(
  arena: Arena,
  subjects: readonly Subject[],
  results: Readonly<Record<string, SubjectResult>>,
  say: (line: string) => void,
): Promise<OpenLoopRow[]> {
  const rows: OpenLoopRow[] = []
  // The floor gets the front door's rates: what it shows there is the machine's and the generator's, not QuickLink's.
  for (const { name, door, ofName } of [
    { name: 'net', door: 'none (raw `net`)', ofName: 'raw' },
    { name: 'raw', door: 'raw', ofName: 'raw' },
    { name: 'frontHttp', door: 'http', ofName: 'frontHttp' },
  ]) {
    const subject = subjects.find((each) => each.name === name)
    const capacity = results[ofName]?.rps.median
    if (subject === undefined || capacity === undefined) continue
    for (const share of shares) {
      const rate = Math.round(capacity * share)
      const answer = await atRate(arena, subject, rate)
      rows.push({ door, share, rate, ...answer })
      say(
        `open loop, ${door}, ${rate}/s: p50 ${answer.p50Ms} ms, p99 ${answer.p99Ms} ms (generator ${Math.round(100 * answer.generatorBusy)} % busy)`,
      )
    }
  }
  return rows
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
