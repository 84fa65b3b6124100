// Whatever becomes of the runner, a drill leaves nothing behind; and a fault that does not land proves nothing.
import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, inject, test } from 'vitest'
import { projectDir } from '../../../embedded/paths.ts'
import { commandLine } from '../../../embedded/process.ts'
import { waitFor } from '../../../embedded/wait.ts'
import { postgresDaemon } from '../../../embedded/postgres.ts'
import { redisRefused } from '../redis-refused.ts'
import { runDrill } from './engine.ts'
import { placesOf } from './cleanup.ts'
import { reportOf } from './report.ts'

let dir: string

beforeEach(() => {
  dir = mkdtempSync(join(inject('services').runDir, 'drills-'))
  // Postgres' own user walks through it.
  chmodSync(dir, 0o711)
})

interface Runner {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  readonly text: () => string
}

function startDrill(): Runner {
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'run.ts')], {
    env: { PATH: process.env['PATH'], TMPDIR: dir, NAME: 'redis-refused', SHORT: 'yes', ANYHOW: 'yes' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return { child, ended: new Promise((resolve) => child.once('close', resolve)), text: () => text }
}

/** In the middle of its fault, with the pids of what it has started. */
async function inMidFault(): Promise<Runner & { pids: number[] }> {
  const runner = startDrill()
  await waitFor(() => runner.text().includes('Fault:'), { deadlineMs: 120_000, everyMs: 50 })
  const folder = readdirSync(dir).find((name) => name.startsWith('quicklink-drill-') && !name.endsWith('.lock')) as string
  const started = JSON.parse(readFileSync(join(dir, folder, 'started.json'), 'utf8')) as { pid: number }[]
  const pids = [...started.map(({ pid }) => pid), postgresDaemon(placesOf(join(dir, folder))).pid() ?? 0]
  expect(pids.map(commandLine).filter((line) => line === '')).toEqual([])
  return { ...runner, pids }
} // prettier-ignore

const allGone = (pids: readonly number[]): boolean =>
  pids.every((pid) => commandLine(pid) === '') && readdirSync(dir).length === 0

test('kill -9 of the runner: the dead man takes down its QuickLink and releases the lock', { timeout: 240_000 }, async () => {
  const { child, ended, pids } = await inMidFault()
  const second = startDrill()
  expect(await second.ended).toBe(2)
  expect(second.text()).toBe('Another drill is under way on this machine: wait for it.\n')
  child.kill('SIGKILL')
  await ended
  await waitFor(() => allGone(pids), { deadlineMs: 30_000 })
}) // prettier-ignore

test('Ctrl-C: everything is undone at once', { timeout: 240_000 }, async () => {
  const { child, ended, pids } = await inMidFault()
  child.kill('SIGINT')
  await waitFor(() => allGone(pids), { deadlineMs: 5000 })
  expect(await ended).toBe(130)
})

test('a reader who leaves, as of `make drill | head`: the same as Ctrl-C', { timeout: 240_000 }, async () => {
  const { child, ended, pids } = await inMidFault()
  // What it says next finds nobody.
  child.stdout?.destroy()
  expect(await ended).toBe(130)
  await waitFor(() => allGone(pids), { deadlineMs: 5000 })
})

test('a fault that does not land is inconclusive, whatever else was seen', { timeout: 240_000 }, async () => {
  const fault = { ...redisRefused.fault, inject: () => Promise.resolve() }
  const options = { short: true, anyhow: true, mode: 'embedded' as const, sources: projectDir, say: () => undefined }
  const drill = async () => reportOf(await runDrill({ ...redisRefused, fault }, options), undefined)
  const said = 'The fault did not land: not so that a stranger is refused by Redis.'
  let report = await drill()
  // A machine that is too busy to get as far as that has another chance.
  for (let tries = 1; tries < 3 && !report.reasons.includes(said); tries++) report = await drill()
  expect(report.verdict).toBe('INCONCLUSIVE')
  expect(report.reasons).toContain(said)
})
