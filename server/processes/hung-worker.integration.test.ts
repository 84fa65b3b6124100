// A worker that is there but does not answer: stopped, or in an endless loop. The kernel goes on giving it connections.
import { request } from 'node:http'
import { expect, test } from 'vitest'
import { alive, get, startReady, statusOf, total, until, type Running } from './supervised.stub.ts'

const pidsOf = async (running: Running): Promise<number[]> =>
  (await statusOf(running)).workers.flatMap(({ pid }) => pid ?? [])

/** One new connection; which worker answered. */
const visit = ({ url }: Running): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request(url, { agent: false }, (answer) => {
      let text = ''
      answer.on('data', (chunk) => (text += String(chunk))).once('end', () => resolve(Number(text)))
    })
    asked.once('error', reject).end()
  })
const visits = (running: Running, count: number): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, () => visit(running)))

test('a worker that is stopped costs 200 new visitors no answer, and nobody waits until it is killed', async () => {
  const running = await startReady({ WORKERS: '3' })
  const [stopped = 0, ...others] = await pidsOf(running)
  process.kill(stopped, 'SIGSTOP')
  expect(others).toEqual(expect.arrayContaining(await visits(running, 100)))
  expect(others).toEqual(expect.arrayContaining(await visits(running, 100)))
  // It would have been killed after ten seconds.
  expect(alive(stopped)).toBe(true)
})

test('a worker in an endless loop: the same, and it is killed and replaced', async () => {
  const running = await startReady({ WORKERS: '2' })
  const before = await pidsOf(running)
  void get(running, '/spin').catch(() => undefined)
  await until(() => Promise.resolve(expect(running.output()).toContain('it spins')))
  await visits(running, 100)
  expect((await fetch(`${running.ops}/readyz`)).status).toBe(200)
  await until(async () => expect(await total(running, 'quicklink_workers_serving')).toBe(1))
  expect((await statusOf(running)).workers.map(({ serving }) => serving).toSorted()).toEqual([false, true])
  await until(async () => expect(await total(running, 'quicklink_workers_serving')).toBe(2))
  expect(await total(running, 'quicklink_worker_restarts_total')).toBe(1)
  expect((await pidsOf(running)).filter((pid) => before.includes(pid))).toHaveLength(1)
  expect(running.output()).toContain('a worker is hung')
})

test('a worker that wakes up accepts for itself again, and the next time somebody stands in for it, too', async () => {
  const running = await startReady({ WORKERS: '2' })
  const [first = 0, second = 0] = await pidsOf(running)
  for (const _ of [1, 2]) {
    process.kill(first, 'SIGSTOP')
    expect(new Set(await visits(running, 50))).toEqual(new Set([second]))
    process.kill(first, 'SIGCONT')
    await until(async () => expect(new Set(await visits(running, 50))).toEqual(new Set([first, second])))
  }
  expect(await total(running, 'quicklink_worker_restarts_total')).toBe(0)
})

test('a worker that leaves, or is killed, takes no new visitor along', async () => {
  const running = await startReady({ WORKERS: '3' })
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const [leaving = 0] = await pidsOf(running)
    process.kill(leaving, 'SIGSTOP')
    const waiting = visits(running, 60)
    process.kill(leaving, signal)
    process.kill(leaving, 'SIGCONT')
    expect(await waiting).toHaveLength(60)
    await until(async () => expect(await total(running, 'quicklink_workers_serving')).toBe(3))
  }
})

test('no worker that answers: not ready, and ready again when one does', async () => {
  const running = await startReady({ WORKERS: '2' })
  const pids = await pidsOf(running)
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
  await until(async () => {
    const ready = await fetch(`${running.ops}/readyz`)
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'no_workers' }])
  })
  expect(await total(running, 'quicklink_workers_serving')).toBe(0)
  expect((await fetch(`${running.ops}/livez`)).status).toBe(200)
  const waiting = visits(running, 20)
  for (const pid of pids) process.kill(pid, 'SIGCONT')
  expect(pids).toEqual(expect.arrayContaining(await waiting))
  await until(async () => expect((await fetch(`${running.ops}/readyz`)).status).toBe(200))
})

test('while the primary process does not run, no worker counts as silent', async () => {
  const running = await startReady({ WORKERS: '2' })
  const pids = await pidsOf(running)
  for (const pid of [running.child.pid as number, ...pids]) process.kill(pid, 'SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 11_000))
  for (const pid of [running.child.pid as number, ...pids]) process.kill(pid, 'SIGCONT')
  expect(await visits(running, 20)).toHaveLength(20)
  expect(await pidsOf(running)).toEqual(pids)
  expect(await total(running, 'quicklink_worker_restarts_total')).toBe(0)
})
