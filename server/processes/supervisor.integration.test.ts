import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'

const stub = new URL('supervisor.stub.ts', import.meta.url).pathname
const until = <T>(check: () => Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 10_000, interval: 25 })

interface Running {
  readonly child: ChildProcess
  readonly url: string
  readonly ops: string
  readonly exit: Promise<{ code: number | null; signal: string | null; ms: number }>
  output(): string
}
const started: Running[] = []

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function start(env: Record<string, string> = {}): Promise<Running> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const all = { HOST: '127.0.0.1', PORT: `${port}`, OPS_PORT: `${opsPort}`, WORKERS: '2', ...env }
  const child = spawn(process.execPath, [stub], {
    env: { PATH: process.env['PATH'], DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', ...all },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += String(chunk)))
  child.stderr.on('data', (chunk) => (output += String(chunk)))
  const beganMs = performance.now()
  const exit = once(child, 'close').then(([code, signal]) => ({ code, signal, ms: performance.now() - beganMs }))
  const running = { child, exit, url: `http://127.0.0.1:${all.PORT}`, ops: `http://127.0.0.1:${all.OPS_PORT}` }
  started.push({ ...running, output: () => output })
  return { ...running, output: () => output }
}

async function startReady(env?: Record<string, string>): Promise<Running> {
  const running = await start(env)
  await until(async () => expect((await fetch(`${running.ops}/readyz`)).status).toBe(200))
  return running
}

interface Status {
  readonly health: { status: string }
  readonly workers: { pid: number | null; serving: boolean; restarts: number; status: { pid: number } | null }[]
}
const statusOf = async ({ ops }: Running): Promise<Status> => (await (await fetch(`${ops}/statusz`)).json()) as Status
const total = async ({ ops }: Running, series: string): Promise<number> => {
  const text = await (await fetch(`${ops}/metrics`)).text()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1],
  )
}
const get = async ({ url }: Running, path = '/'): Promise<string> =>
  (await fetch(url + path, { headers: { connection: 'close' } })).text()
const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

afterEach(async () => {
  for (const { child, exit } of started.splice(0)) {
    child.kill('SIGKILL')
    await exit
  }
})

test('is ready although Postgres is away, and workers hear of the database when it is there', async () => {
  const running = await startReady()
  expect(await (await fetch(`${running.ops}/livez`)).json()).toEqual({ status: 'ok' })
  expect(await get(running, '/boot')).toContain('the salt')
  await until(async () => expect((await statusOf(running)).health.status).toBe('ok'))
  expect(running.output().match(/cannot be reached/g)).toHaveLength(1)
})

test('a worker that dies is replaced, and no counter goes back', async () => {
  const running = await startReady()
  for (let i = 0; i < 20; i++) await get(running)
  expect(await total(running, 'quicklink_redirects_total{status="302"}')).toBe(20)
  await get(running, '/crash').catch(() => undefined)
  expect(await total(running, 'quicklink_redirects_total{status="302"}')).toBe(20)
  await until(async () => {
    const { workers } = await statusOf(running)
    expect(workers.map(({ serving }) => serving)).toEqual([true, true])
    expect(workers.map(({ restarts }) => restarts).sort()).toEqual([0, 1])
    expect(workers.every(({ pid, status }) => pid !== null && pid === status?.pid)).toBe(true)
  })
  await get(running, '/boot') // the replacement knows the database too
  expect(await total(running, 'quicklink_redirects_total{status="302"}')).toBe(21)
  expect(await total(running, 'quicklink_worker_restarts_total')).toBe(1)
  expect(await total(running, 'quicklink_workers_serving')).toBe(2)
})

test.each(['SIGTERM', 'SIGINT'] as const)('one clean stop, although %s comes to all and twice', async (signal) => {
  const running = await startReady()
  const pids = (await statusOf(running)).workers.map(({ pid }) => pid ?? 0)
  const slow = get(running, '/slow')
  await new Promise((resolve) => setTimeout(resolve, 100))
  for (let i = 0; i < 2; i++) {
    running.child.kill(signal)
    for (const pid of pids) process.kill(pid, signal)
  }
  await until(async () => expect((await fetch(`${running.ops}/readyz`)).status).toBe(503))
  expect(await slow).toMatch(/\d+/) // what was in flight is finished
  expect(await running.exit).toMatchObject({ code: 0, signal: null })
  expect(pids.some(alive)).toBe(false)
  expect(running.output()).not.toMatch(/will be replaced|not clean|killed/)
})

test('a worker that does not finish is killed, and the primary still exits with 0 within 10 s', async () => {
  const running = await startReady()
  void get(running, '/hang').catch(() => undefined)
  await new Promise((resolve) => setTimeout(resolve, 100))
  const beganMs = performance.now()
  running.child.kill('SIGTERM')
  expect((await running.exit).code).toBe(0)
  expect(performance.now() - beganMs).toBeLessThan(10_000)
})

test('workers that lose their primary stop', async () => {
  const running = await startReady()
  const pids = (await statusOf(running)).workers.map(({ pid }) => pid ?? 0)
  running.child.kill('SIGKILL')
  await until(async () => expect(pids.some(alive)).toBe(false))
  await running.exit
  expect(running.output()).toContain('the primary process is gone')
})

test.each(['PORT', 'OPS_PORT'])('a taken %s: one sentence that names it, and no loop', async (variable) => {
  const blocker: Server = createServer().listen(0, '127.0.0.1')
  await once(blocker, 'listening')
  const { port } = blocker.address() as AddressInfo
  const running = await start({ [variable]: String(port) })
  const { code } = await running.exit
  blocker.close()
  expect(code).toBe(1)
  const sentences = running.output().match(new RegExp(`Port ${port} is taken: set ${variable} to`, 'g'))
  expect(sentences).toHaveLength(1)
  expect(running.output()).not.toContain('    at ')
})
