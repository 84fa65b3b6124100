import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { expect, test } from 'vitest'
import { send } from '../../testing/http.ts'
import { alive, get, start, startReady, until } from './supervised.stub.ts'

test('is ready although Postgres is away, and workers hear of the database when it is there', async () => {
  const running = await startReady()
  expect(JSON.parse((await send(running.opsUrl, 'GET', '/livez')).text)).toEqual({ status: 'ok' })
  expect(await get(running, '/boot')).toContain('the salt')
  await until(async () => expect((await running.status()).health.status).toBe('ok'))
  expect(running.output().match(/cannot be reached/g)).toHaveLength(1)
})

test('a worker that dies is replaced, and no counter goes back', async () => {
  const running = await startReady()
  for (let i = 0; i < 20; i++) await get(running)
  expect(await running.metric('quicklink_redirects_total{status="302"}')).toBe(20)
  await get(running, '/crash').catch(() => undefined)
  expect(await running.metric('quicklink_redirects_total{status="302"}')).toBe(20)
  await until(async () => {
    const { workers } = await running.status()
    expect(workers.map(({ serving }) => serving)).toEqual([true, true])
    expect(workers.map(({ restarts }) => restarts).sort()).toEqual([0, 1])
    expect(workers.every(({ pid, status }) => pid !== null && pid === status?.pid)).toBe(true)
  })
  await get(running, '/boot') // the replacement knows the database too
  expect(await running.metric('quicklink_redirects_total{status="302"}')).toBe(21)
  expect(await running.metric('quicklink_worker_restarts_total')).toBe(1)
  expect(await running.metric('quicklink_workers_serving')).toBe(2)
})

/** One that was idle may have ended by now. */
function signalled(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('ESRCH')
  }
}

test.each(['SIGTERM', 'SIGINT'] as const)('one clean stop, although %s comes to all and twice', async (signal) => {
  const running = await startReady()
  const pids = await running.workerPids()
  const slow = get(running, '/slow')
  await new Promise((resolve) => setTimeout(resolve, 100))
  for (let i = 0; i < 2; i++) {
    running.signal(signal)
    for (const pid of pids) signalled(pid, signal)
  }
  await until(async () => expect((await running.ready()).status).toBe(503))
  expect(await slow).toMatch(/\d+/) // what was in flight is finished
  expect(await running.ended).toBe(0)
  expect(pids.some(alive)).toBe(false)
  expect(running.output()).not.toMatch(/will be replaced|not clean|killed/)
})

test('a worker that does not finish is killed, and the primary still exits with 0 within 10 s', async () => {
  const running = await startReady()
  void get(running, '/hang').catch(() => undefined)
  await new Promise((resolve) => setTimeout(resolve, 100))
  const beganMs = performance.now()
  running.signal('SIGTERM')
  expect(await running.ended).toBe(0)
  expect(performance.now() - beganMs).toBeLessThan(10_000)
})

test('workers that lose their primary stop', async () => {
  const running = await startReady()
  const pids = await running.workerPids()
  running.signal('SIGKILL')
  await until(async () => expect(pids.some(alive)).toBe(false))
  await running.ended
  expect(running.output()).toContain('the primary process is gone')
})

test.each(['PORT', 'OPS_PORT'])('a taken %s: one sentence that names it, and no loop', async (variable) => {
  const blocker: Server = createServer().listen(0, '127.0.0.1')
  await once(blocker, 'listening')
  const { port } = blocker.address() as AddressInfo
  const running = await start({ [variable]: String(port) })
  const code = await running.ended
  blocker.close()
  expect(code).toBe(1)
  const sentences = running.output().match(new RegExp(`Port ${port} is taken: set ${variable} to`, 'g'))
  expect(sentences).toHaveLength(1)
  expect(running.output()).not.toContain('    at ')
})
