// Closed-loop load: so many connections, each asking again as soon as it is answered. By wrk, which costs about a third
// of the CPU time, or by autocannon; always in a process of its own, on cores of its own where that is possible.
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onPath } from '../../embedded/redis-process.ts'
import { pinned } from '../measure/cpu.ts'
import { bytesOf, type Load } from './loads.ts'

export interface Drive {
  readonly url: string
  readonly load: Load
  readonly seconds: number
  readonly connections: number
  readonly threads: number
  readonly cores: string | undefined
}

export interface Driven {
  readonly requests: number
  readonly seconds: number
  /** Errors of the connection, time-outs, and answers of another kind than expected. */
  readonly failed: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

export interface Generator {
  readonly name: string
  drive(drive: Drive): Promise<Driven>
}

export function findGenerator(): Generator {
  const wrk = process.env['GENERATOR'] === 'autocannon' ? undefined : onPath('wrk')
  if (wrk === undefined) return { name: 'autocannon', drive: byAutocannon }
  const version = /wrk \S+/.exec(spawnSync(wrk, ['-v'], { encoding: 'utf8' }).stdout)?.[0] ?? 'wrk'
  return { name: version, drive: (drive) => byWrk(wrk, drive) }
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

/** Lua reads decimal escapes; nothing else of a request needs any. */
const quoted = (text: string): string =>
  `"${text.replace(/[^ !#-[\]-~]/g, (c) => `\\${String(c.charCodeAt(0)).padStart(3, '0')}`)}"`

/** The request as one string: wrk's own way to put headers together has no order, and takes longer. */
export function luaOf({ load, url }: Pick<Drive, 'load' | 'url'>, seed: number): string {
  const { before, after } = bytesOf(load, new URL(url).host)
  const requests = {
    one: `local all = before .. after
function request() return all end`,
    uniform: `math.randomseed(${seed})
function request() return before .. math.random(0, ${load.paths.kind === 'uniform' ? load.paths.count - 1 : 0}) .. after end`,
    distinct: `local n = 0
function request() n = n + 1; return before .. "${seed.toString(36)}-" .. n .. after end`,
  }
  return `local before = ${quoted(before)}
local after = ${quoted(after)}
${requests[load.paths.kind]}
function done(summary, latency)
  local e = summary.errors
  print(string.format("RESULT %d %d %d %d %d %d %d", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.timeout, e.status,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
`
}

async function byWrk(wrk: string, drive: Drive): Promise<Driven> {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-bench-'))
  try {
    const file = join(dir, 'load.lua')
    writeFileSync(file, luaOf(drive, Math.floor(Math.random() * 2 ** 31)))
    const size = [`-t${drive.threads}`, `-c${drive.connections}`, `-d${drive.seconds}s`]
    const output = await run(pinned([wrk, ...size, '--latency', '-s', file, drive.url], drive.cores))
    return parseWrk(output, drive.load.status)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** Of the statuses, wrk says only how many were above 399. */
export function parseWrk(output: string, status: number): Driven {
  const line = output.split('\n').find((each) => each.startsWith('RESULT '))
  if (line === undefined) throw new Error(`wrk printed no result: ${output}`)
  const [requests = 0, us = 0, broken = 0, refused = 0, p50 = 0, p99 = 0, p999 = 0] = line
    .split(' ')
    .slice(1)
    .map(Number)
  const wrong = status > 399 ? requests - refused : refused
  return {
    requests,
    seconds: us / 1e6,
    failed: broken + wrong,
    p50Ms: p50 / 1000,
    p99Ms: p99 / 1000,
    p999Ms: p999 / 1000,
  }
}

const autocannonRun = new URL('autocannon-run.ts', import.meta.url).pathname

async function byAutocannon({ cores, ...drive }: Drive): Promise<Driven> {
  const command = [process.execPath, '--no-warnings', autocannonRun, JSON.stringify(drive)]
  return JSON.parse(await run(pinned(command, cores))) as Driven
}
