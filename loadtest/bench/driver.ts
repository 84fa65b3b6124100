// Closed-loop load: so many connections, each asking again as soon as it is answered. In processes of their own
// (driver-run.ts), on cores of their own where that is possible.
import { spawn } from 'node:child_process'
import { pinned } from '../measure/cpu.ts'
import type { Load } from './loads.ts'

export interface Drive {
  readonly url: string
  readonly load: Load
  readonly seconds: number
  readonly connections: number
  readonly processes: number
  readonly cores: string | undefined
}

export type ClosedLoopOrder = Omit<Drive, 'processes' | 'cores'>

export interface Driven {
  readonly requests: number
  readonly seconds: number
  /** Errors of the connection, and answers of another kind than expected. */
  readonly failed: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

export function run(command: readonly string[]): Promise<string> {
  const [file = '', ...args] = command
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${file} ended with ${code}: ${output}`))
    })
  })
}

const driver = new URL('driver-run.ts', import.meta.url).pathname

export async function drive({ processes, cores, connections, ...rest }: Drive): Promise<Driven> {
  const order: ClosedLoopOrder = { ...rest, connections: Math.ceil(connections / processes) }
  const command = pinned([process.execPath, '--no-warnings', driver, JSON.stringify(order)], cores)
  const outputs = await Promise.all(Array.from({ length: processes }, () => run(command)))
  return together(outputs.map((output) => JSON.parse(output) as Driven))
}

/** Of several processes: sums, and the worst latencies. */
function together(all: readonly Driven[]): Driven {
  const sum = (pick: (driven: Driven) => number): number => all.reduce((total, driven) => total + pick(driven), 0)
  const worst = (pick: (driven: Driven) => number): number => Math.max(...all.map(pick))
  return {
    requests: sum(({ requests }) => requests),
    failed: sum(({ failed }) => failed),
    seconds: worst(({ seconds }) => seconds),
    p50Ms: worst(({ p50Ms }) => p50Ms),
    p99Ms: worst(({ p99Ms }) => p99Ms),
    p999Ms: worst(({ p999Ms }) => p999Ms),
  }
}
