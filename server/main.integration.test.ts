// The server as a process: what is acknowledged survives, what dies is replaced, what is asked to stop stops cleanly.
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { send } from '../testing/app.ts'
import { steadily } from '../testing/load.ts'
import { spawnServer, startServer, type ServerProcess } from '../testing/server-process.ts'
import { freshDatabase, freshRedis, startPostgresServer, startRedisServer, waitFor } from '../testing/services.ts'

const target = 'https://example.org/somewhere'

async function fresh(env: Record<string, string> = {}): Promise<Record<string, string>> {
  return { DATABASE_URL: await freshDatabase(), REDIS_URL: await freshRedis(), ...env }
}

async function createMany(server: ServerProcess, count: number, made: Map<string, string>): Promise<void> {
  let next = 0
  const one = async (): Promise<void> => {
    while (next < count) {
      const url = `${target}/${next++}`
      const answer = await server.api('POST', '/links', { url }).catch(() => undefined)
      if (answer?.status === 201) made.set(`/${String(answer.body['code'])}`, url)
    }
  }
  await Promise.all(Array.from({ length: 10 }, one))
}

describe('an acknowledged create', () => {
  it('is there after kill -9 in the middle of 2,000 creates', async () => {
    const env = await fresh({ WORKERS: '2' })
    const first = await startServer(env)
    const made = new Map<string, string>()
    const creating = createMany(first, 2000, made)
    await waitFor(() => made.size > 500, { deadlineMs: 30_000 })
    await first.kill()
    await creating
    expect(made.size).toBeGreaterThan(500)
    const second = await startServer({ ...env, OWNER_KEY: first.key })
    for (const [path, url] of made) {
      const { status, headers } = await send(second.url, 'GET', path)
      expect([path, status, headers.location]).toEqual([path, 302, url])
    }
  })

  it('redirects by every worker within 150 ms, although all of them had just answered 404', async () => {
    const server = await startServer(await fresh({ WORKERS: '3' }))
    for (let round = 0; round < 10; round++) {
      const code = `shadow-${round}`
      // Each new connection goes to the next worker.
      for (let n = 0; n < 6; n++) expect((await send(server.url, 'GET', `/${code}`)).status).toBe(404)
      expect((await server.api('POST', '/links', { url: target, code })).status).toBe(201)
      await pause(150)
      for (let n = 0; n < 6; n++) expect((await send(server.url, 'GET', `/${code}`)).status).toBe(302)
    }
  })
})

describe('processes', () => {
  it('a worker that is hung takes no redirect from new visitors, and makes nobody wait until it is killed', async () => {
    const server = await startServer(await fresh({ WORKERS: '3' }))
    const { body } = await server.api('POST', '/links', { url: target })
    const path = `/${String(body['code'])}`
    const [hung] = (await server.workerPids()) as [number]
    process.kill(hung, 'SIGSTOP')
    for (const _ of [1, 2]) {
      const answers = await Promise.all(Array.from({ length: 100 }, () => send(server.url, 'GET', path)))
      for (const { status, headers } of answers) expect([status, headers.location]).toEqual([302, target])
    }
    // It lives: nobody has waited until it was killed, after ten seconds.
    expect(process.kill(hung, 0)).toBe(true)
    await waitFor(async () => !(await server.workerPids()).includes(hung), { deadlineMs: 30_000 })
  })

  it('stops cleanly under load: everything in flight is answered, exit code 0, within 10 s', async () => {
    const server = await startServer(await fresh({ WORKERS: '2' }))
    const { body } = await server.api('POST', '/links', { url: target })
    const loadedMs = performance.now()
    let stoppedAtMs = 0
    const stopping = pause(500).then(() => {
      stoppedAtMs = performance.now() - loadedMs
      server.signal('SIGTERM')
      server.signal('SIGTERM')
    })
    const load = await steadily(() => server.url, [`/${String(body['code'])}`], 200, stopping, false)
    const beganMs = performance.now()
    expect(await server.ended).toBe(0)
    expect(performance.now() - beganMs).toBeLessThan(10_000)
    // Connections made after the listener was closed are refused; none that was accepted is dropped.
    // The kernel resets what waits in its queue at that moment: it was never accepted. Nobody waits there for longer than the slowest answer takes.
    const surelyMs = stoppedAtMs - 250 - load.p(1)
    const accepted = load.failures.filter((failure) => Number(/ at (\d+) ms/.exec(failure)?.[1]) < surelyMs)
    expect(accepted).toEqual([])
    expect(load.failures.filter((failure) => !/ECONNREFUSED|ECONNRESET/.test(failure))).toEqual([])
    expect(load.answers.every(({ status }) => status === 302)).toBe(true)
  })

  it('SIGUSR1 opens no inspector, neither in the primary nor in a worker, and they live on', async () => {
    const server = await startServer({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', WORKERS: '2' })
    const pids = await server.workerPids()
    for (let round = 0; round < 20; round++) {
      server.signal('SIGUSR1')
      for (const pid of pids) process.kill(pid, 'SIGUSR1')
      expect(await server.workerPids()).toEqual(pids)
    }
    // Node says so on standard error, as soon as it listens.
    expect(server.output()).not.toMatch(/Debugger listening|Starting inspector/)
  })

  it('starts without Postgres, degraded, and makes the database ready when it comes', async () => {
    const postgres = await startPostgresServer()
    await postgres.kill()
    const redis = await startRedisServer()
    const server = await startServer({ DATABASE_URL: postgres.url, REDIS_URL: redis.url })
    expect(JSON.parse((await server.ready()).text)).toMatchObject({ status: 'degraded', postgres: 'down', redis: 'up' })
    expect((await server.api('POST', '/links', { url: target })).status).toBe(503)
    await postgres.restart()
    await waitFor(async () => (await server.api('POST', '/links', { url: target })).status === 201, {
      deadlineMs: 30_000,
    })
  })

  it('shows no secret in its log', async () => {
    const server = await startServer(await fresh({ CODE_SALT: 'q8Zr2LkX0vTn5WcYb7GdJh3MfPs6AeUi' }))
    await server.api('POST', '/links', { url: `${target}?token=visible` })
    await send(server.url, 'GET', '/unknown?secret=visible')
    const output = server.output()
    expect(output.length).toBeGreaterThan(0)
    for (const secret of [server.key, 'q8Zr2LkX0vTn5WcYb7GdJh3MfPs6AeUi', 'token=visible', 'secret=visible']) {
      expect(output).not.toContain(secret)
    }
  })
})

describe('refuses to start, with one sentence that names the variable', () => {
  it.each<[string, Record<string, string>, string]>([
    ['no database', { DATABASE_URL: '' }, 'DATABASE_URL'],
    ['a malformed Redis URL', { REDIS_URL: 'localhost:6379' }, 'REDIS_URL'],
    ['a short salt', { CODE_SALT: 'short' }, 'CODE_SALT'],
    ['an example salt', { CODE_SALT: 'change-me-change-me-change-me-change-me' }, 'CODE_SALT'],
    ['a short owner key', { OWNER_KEY: 'short' }, 'OWNER_KEY'],
    ['a contradiction', { LINK_TTL_S: '60' }, 'LINK_TTL_S'],
    ['no number', { PORT: 'http' }, 'PORT'],
  ])('%s', async (_, env, name) => {
    const server = await spawnServer({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', ...env })
    expect(await server.ended).toBe(1)
    expect(server.output().trim().split('\n')).toHaveLength(1)
    expect(server.output()).toContain(name)
  })
})
