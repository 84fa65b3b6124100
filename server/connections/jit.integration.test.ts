// Postgres as a distribution, or most managed ones, set it up: it compiles what it takes for an expensive statement.
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Cursor } from '../coherence/cursor.ts'
import { createTruth } from '../coherence/truth.ts'
import { postgres15BinDir, startPostgresServer } from '../../testing/services.ts'
import { withDatabaseLock } from './migrate.ts'
import { openPostgres } from './postgres.ts'

const ignore = (): undefined => undefined
const passes = 50
/** Compiling took 100 to 300 ms of each; index probes take less than 1. */
const allowedMs = 5

/** Processor time, of a process of this machine. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

test.for(['15', 'npm’s'])(
  'the passes of an idle worker cost PostgreSQL %s next to nothing on stock settings',
  // It may have to be installed first.
  async (which, { skip }) => {
    const binDir = which === '15' ? await postgres15BinDir() : undefined
    if (which === '15' && binDir === undefined) skip('there is no PostgreSQL 15, and no apt to install it')
    const server = await startPostgresServer({ fresh: true, ...(binDir ? { binDir } : {}) })
    await withDatabaseLock({ url: server.url, connectMs: 5000, onInfo: ignore }, () => Promise.resolve())
    const options = { url: server.url, name: 'test', connectMs: 5000, queryMs: 10_000, onError: ignore }
    const worker = openPostgres({ ...options, maxConnections: 1, onlyIndexes: true })
    try {
      const truth = createTruth(worker, worker)
      const [backend] = await worker.query<{ pid: number; version: string }>(
        `select pg_backend_pid() as pid, current_setting('server_version') as version`,
      )
      if (binDir) expect(backend?.version).toMatch(/^15\./)
      let cursor: Cursor | null = null
      // The first makes the plan, and fills what Postgres caches of its own tables.
      for (let n = 0; n < 10; n++) cursor = (await truth.changesSince(cursor)).next
      const before = cpuMs(backend?.pid ?? 0)
      for (let n = 0; n < passes; n++) {
        cursor = (await truth.changesSince(cursor)).next
        await pause(1)
      }
      const eachMs = (cpuMs(backend?.pid ?? 0) - before) / passes
      expect(eachMs).toBeLessThan(allowedMs)
    } finally {
      await worker.close()
    }
  },
)

test('the server’s own setting is jit = on, and ours beats it together with what the URL asks for', async () => {
  const server = await startPostgresServer({ fresh: true })
  const url = `${server.url}?options=${encodeURIComponent('-c work_mem=7MB')}`
  const show = async (db: ReturnType<typeof openPostgres>): Promise<unknown> => {
    const settings = `current_setting('jit') as jit, current_setting('enable_seqscan') as scan, current_setting('work_mem') as mem`
    const rows = await db.query(`select ${settings}, (select boot_val from pg_settings where name = 'jit') as stock`)
    await db.close()
    return rows[0]
  }
  const open = (onlyIndexes: boolean) =>
    openPostgres({ url, name: 'test', maxConnections: 1, connectMs: 5000, queryMs: 5000, onlyIndexes, onError: ignore })
  expect(await show(open(false))).toEqual({ jit: 'off', scan: 'on', mem: '7MB', stock: 'on' })
  expect(await show(open(true))).toEqual({ jit: 'off', scan: 'off', mem: '7MB', stock: 'on' })
})
