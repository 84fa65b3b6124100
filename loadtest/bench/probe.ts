// What workers hold, and for how long they stand still: told by a probe that is loaded into them (probe-run.ts).
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from '../../embedded/wait.ts'
import { familyPids } from '../measure/cpu.ts'
import type { Arena } from './arena.ts'
import type { BenchServer } from './stand.ts'

/** Of one worker since it was last asked. */
export interface Probed {
  /** Its longest stall. */
  readonly ms: number
  /** What its thread worked in the stall in which it worked most: the rest of a stall is waiting for a core. */
  readonly ownMs: number
  /** After a collection, if that was asked for. */
  readonly heapBytes: number
}

type Ask = () => Promise<Probed[]>

/** A server with the probe in each of its workers, for as long as the work lasts. */
export async function withProbe<T>(
  arena: Arena,
  env: Record<string, string>,
  work: (server: BenchServer, ask: Ask) => Promise<T>,
): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-bench-'))
  const NODE_OPTIONS = `--import ${new URL('probe-run.ts', import.meta.url).href}`
  const server = await arena.quickLink({ ...env, NODE_OPTIONS, QL_PROBE_DIR: dir }, arena.cores?.all)
  const ask: Ask = () => {
    const pids = familyPids(server.pid).slice(1)
    const fileOf = (pid: number): string => join(dir, String(pid))
    for (const pid of pids) rmSync(fileOf(pid), { force: true })
    for (const pid of pids) process.kill(pid, 'SIGUSR2')
    return waitFor(() => pids.map((pid) => JSON.parse(readFileSync(fileOf(pid), 'utf8')) as Probed))
  }
  try {
    return await work(server, ask)
  } finally {
    await server.stop()
    rmSync(dir, { recursive: true })
  }
}
