// Load in a process of its own (driver-run.ts), on a core of its own where that is possible.
import { spawn } from 'node:child_process'
import { pinned } from '../measure/cpu.ts'
import type { Load } from './loads.ts'

export interface Order {
  readonly servers: readonly { readonly url: string; readonly load: Load }[]
  readonly connections: number
  /** A second, whatever the answers take; undefined: as many as the connections carry. */
  readonly rate?: number
  /** Of each server. */
  readonly slices: number
  readonly sliceMs: number
}

/** Of a server. */
export interface Driven {
  readonly requests: number
  readonly seconds: number
  /** Errors of the connection, and answers of another kind than expected. */
  readonly failed: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
  readonly p99BySlice: readonly number[]
}

export interface DriverResult {
  readonly servers: readonly Driven[]
  /** From 0 to 1. Close to 1, the latencies at a rate are those of the generator. */
  readonly generatorBusy: number
}

const driver = new URL('driver-run.ts', import.meta.url).pathname

export function drive(order: Order, cores: string | undefined): Promise<DriverResult> {
  const [file = '', ...args] = pinned([process.execPath, '--no-warnings', driver, JSON.stringify(order)], cores)
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(output) as DriverResult)
      else reject(new Error(`the driver ended with ${code}: ${output}`))
    })
  })
}
