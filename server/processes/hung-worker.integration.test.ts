// A worker that is there but does not answer: stopped, or in an endless loop. The kernel goes on giving it connections.
import { signalAll } from '../../embedded/daemon.ts'
import { expect, test } from 'vitest'
import { send } from '../../testing/http.ts'
import type { ServerProcess } from '../../testing/server-process.ts'
import { get, startReady, until } from './supervised.stub.ts'

/** One new connection; which worker answered. */
const visit = async (running: ServerProcess): Promise<number> => Number(await get(running))
const visits = (running: ServerProcess, count: number): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, () => visit(running)))

test('a worker in an endless loop takes no new visitor, makes nobody wait, and is killed and replaced', async () => {
  const running = await startReady({ WORKERS: '2' })
  const before = await running.workerPids()
  void get(running, '/spin').catch(() => undefined)
  await until(() => expect(running.output()).toContain('it spins'))
  await visits(running, 100)
  expect((await running.ready()).status).toBe(200)
  await until(async () => expect(await running.metric('quicklink_workers_serving')).toBe(1))
  expect((await running.status()).workers.map(({ serving }) => serving).toSorted()).toEqual([false, true])
  await until(async () => expect(await running.metric('quicklink_workers_serving')).toBe(2))
  expect(await running.metric('quicklink_worker_restarts_total')).toBe(1)
  expect((await running.workerPids()).filter((pid) => before.includes(pid))).toHaveLength(1)
  expect(running.output()).toContain('a worker is hung')
})

test('a worker that wakes up accepts for itself again, and the next time somebody stands in for it, too', async () => {
  const running = await startReady({ WORKERS: '2' })
  const [first = 0, second = 0] = await running.workerPids()
  for (const _ of [1, 2]) {
    process.kill(first, 'SIGSTOP')
    expect(new Set(await visits(running, 50))).toEqual(new Set([second]))
    process.kill(first, 'SIGCONT')
    await until(async () => expect(new Set(await visits(running, 50))).toEqual(new Set([first, second])))
  }
  expect(await running.metric('quicklink_worker_restarts_total')).toBe(0)
})

test('a worker that leaves, or is killed, takes no new visitor along', async () => {
  const running = await startReady({ WORKERS: '3' })
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const [leaving = 0] = await running.workerPids()
    process.kill(leaving, 'SIGSTOP')
    const waiting = visits(running, 60)
    process.kill(leaving, signal)
    // One that was killed may be gone by now.
    signalAll([leaving], 'SIGCONT')
    expect(await waiting).toHaveLength(60)
    await until(async () => expect(await running.metric('quicklink_workers_serving')).toBe(3))
  }
})

test('no worker that answers: not ready, and ready again when one does', async () => {
  const running = await startReady({ WORKERS: '2' })
  const pids = await running.workerPids()
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  await until(async () => {
    const { status, text } = await running.ready()
    expect([status, JSON.parse(text)]).toEqual([503, { status: 'no_workers' }])
  })
  expect(await running.metric('quicklink_workers_serving')).toBe(0)
  expect((await send(running.opsUrl, 'GET', '/livez')).status).toBe(200)
  const waiting = visits(running, 20)
  for (const pid of pids) process.kill(pid, 'SIGCONT')
  expect(pids).toEqual(expect.arrayContaining(await waiting))
  await until(async () => expect((await running.ready()).status).toBe(200))
})

test('while the primary process does not run, no worker counts as silent', async () => {
  const running = await startReady({ WORKERS: '2' })
  const pids = await running.workerPids()
  for (const pid of [running.pid, ...pids]) process.kill(pid, 'SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 11_000))
  for (const pid of [running.pid, ...pids]) process.kill(pid, 'SIGCONT')
  expect(await visits(running, 20)).toHaveLength(20)
  expect(await running.workerPids()).toEqual(pids)
  expect(await running.metric('quicklink_worker_restarts_total')).toBe(0)
})
