// The commands as a person runs them, on the real server.
// Long because each of them is shown here, and they share a way to be run.
import { execFile, spawn } from 'node:child_process'
import {
  appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync,
} from 'node:fs' // prettier-ignore
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { limits } from '../server/limits.ts'
import { projectDir } from './paths.ts'
import { freePort } from './process.ts'
import { askRedis, onPath } from './redis-process.ts'
import { waitFor } from './wait.ts'

interface Outcome {
  readonly code: number
  readonly text: string
}

let dataDir: string
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  dataDir = join(inject('services').runDir, 'up-data')
  const ports = { PORT: String(await freePort()), OPS_PORT: String(await freePort()) }
  env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    DATA_DIR: dataDir,
    MODE: 'embedded',
    WORKERS: '1',
    ...ports,
  }
})

afterAll(() => command('down'))

async function command(name: string, more: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  try {
    const args = [join(projectDir, 'appliance', 'cli.ts'), name]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env: { ...env, ...more } })
    return { code: 0, text: stdout + stderr }
  } catch (error) {
    const failed = error as { code: number; stdout: string; stderr: string }
    return { code: failed.code, text: failed.stdout + failed.stderr }
  }
}

const badStatement = `
  const db = new (require('pg').Client)(process.env.URL)
  db.connect().then(() => db.query('select 1/0')).catch(() => undefined).finally(() => db.end())`

async function workerPids(): Promise<number[]> {
  const status = await (await fetch(`http://127.0.0.1:${env['OPS_PORT']}/statusz`)).json()
  return (status as { workers: { pid: number }[] }).workers.map(({ pid }) => pid)
}

const pidsOf = (file: string): number => (JSON.parse(readFileSync(join(dataDir, file), 'utf8')) as { pid: number }).pid

const pidOfPostgres = (): number =>
  Number(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0])

/** Runs the printed command as it stands. */
async function printedCurl(text: string): Promise<string> {
  const line = text.split('\n').find((each) => each.trim().startsWith('curl ')) ?? ''
  return (await promisify(execFile)('/bin/sh', ['-c', line])).stdout
}

const printedToken = (text: string): string | undefined =>
  new RegExp(`^  http://localhost:${env['PORT']}/console/sign-in#token=(qi_[\\w-]+)$`, 'm').exec(text)?.[1]

/** What a browser is answered that signs in by it. */
async function spent(token: string | undefined): Promise<number> {
  const headers = { 'Content-Type': 'application/json', 'Sec-Fetch-Site': 'same-origin' }
  const asked = { method: 'POST', headers, body: JSON.stringify({ token }) }
  return (await fetch(`http://localhost:${env['PORT']}/api/v1/session`, asked)).status
}

test('starts, is harmless twice, survives kill -9 of everything with all data, and stops', async () => {
  const first = await command('up')
  expect(first).toMatchObject({ code: 0 })
  expect(first.text).toMatch(
    onPath('prometheus') ? /^Prometheus, with the alerts, is at/m : /^Nothing watches it: install/m,
  )
  const link = JSON.parse(await printedCurl(first.text)) as { code: string; url: string }
  expect(link.url).toBe('https://example.com/')
  const tokens = [first, await command('sign-in')].map(({ text }) => printedToken(text))
  // The newer one takes the place of the one before.
  expect([await spent(tokens[0]), await spent(tokens[1]), await spent(tokens[1])]).toEqual([401, 201, 401])
  for (const file of ['owner-key', 'database-url', 'redis-url', 'postgres.json', 'redis.json', 'redis/redis.conf']) {
    expect(statSync(join(dataDir, file)).mode & 0o777, file).toBe(0o600)
  }

  const second = await command('up')
  expect(second.text).toContain('already running')
  expect(second.code).toBe(0)

  const postgresPid = pidOfPostgres()
  const all = [pidsOf('keeper.json'), pidsOf('server.json'), pidsOf('redis.json'), postgresPid]
  for (const pid of all) process.kill(pid, 'SIGKILL')
  expect((await command('status')).text).toMatch(/QuickLink +down\nPostgres +down\nRedis +down/)

  expect(await command('up')).toMatchObject({ code: 0 })
  const answer = await fetch(`http://127.0.0.1:${env['PORT']}/${link.code}`, { redirect: 'manual' })
  expect([answer.status, answer.headers.get('location')]).toEqual([302, 'https://example.com/'])
  expect((await command('status')).text).toMatch(/QuickLink +up .*\nPostgres +up .*PostgreSQL 18.*\nRedis +up/)

  expect(await command('down')).toMatchObject({ code: 0 })
  expect((await command('status')).text).toMatch(/QuickLink +down\nPostgres +down\nRedis +down/)
})

test('what dies is started again, with its data, and make status says so', async () => {
  const { text } = await command('up')
  const { code } = JSON.parse(await printedCurl(text)) as { code: string }
  const before = [pidsOf('server.json'), pidsOf('redis.json'), pidOfPostgres()]
  for (const pid of before) process.kill(pid, 'SIGKILL')
  const isBack = async (): Promise<boolean> => {
    const { text: state } = await command('status')
    return /QuickLink +up .*, ready\)\nPostgres +up .*\nRedis +up/.test(state)
  }
  await waitFor(isBack, { deadlineMs: 30_000, everyMs: 500 })
  expect([pidsOf('server.json'), pidsOf('redis.json'), pidOfPostgres()].filter((pid) => before.includes(pid))).toEqual(
    [],
  )
  const leads = async (): Promise<boolean> => {
    const answer = await fetch(`http://127.0.0.1:${env['PORT']}/${code}`, { redirect: 'manual' })
    return answer.headers.get('location') === 'https://example.com/'
  }
  // Who has just come back on a busy machine may need a moment.
  await waitFor(leads, { deadlineMs: 30_000 })
  expect((await command('status')).text).toMatch(/Keeper +up .*Postgres started again once.*Redis started again once.*QuickLink started again once/) // prettier-ignore
})

test('where another program has taken the port of Postgres, the keeper says so, and waits for it', async () => {
  const { text } = await command('up')
  const port = Number(new URL(readFileSync(join(dataDir, 'database-url'), 'utf8')).port)
  const stranger = createServer()
  process.kill(pidsOf('keeper.json'), 'SIGSTOP')
  process.kill(pidOfPostgres(), 'SIGKILL')
  // Its children need a moment.
  const hasTaken = (): Promise<boolean> =>
    new Promise((resolve) =>
      stranger.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)),
    )
  await waitFor(hasTaken, { deadlineMs: 30_000 })
  process.kill(pidsOf('keeper.json'), 'SIGCONT')
  const why = `Postgres could not be started at .*: Port ${port} of Postgres is taken by another program: end that one, or`
  await waitFor(async () => new RegExp(why).test((await command('status')).text), {
    deadlineMs: 30_000,
    everyMs: 500,
  })
  expect((await command('up')).text).toContain(`Port ${port} of Postgres is taken`)
  stranger.close()
  await waitFor(async () => (await printedCurl(text)).includes('"shortUrl"'), { deadlineMs: 30_000, everyMs: 500 })
  expect((await command('status')).text).toContain(`(127.0.0.1:${port})`)
  await command('down')
})

test('make up starts what is missing beside a server that runs, and says what', async () => {
  await command('up')
  for (const pid of [pidsOf('keeper.json'), pidsOf('redis.json')]) process.kill(pid, 'SIGKILL')
  const { code, text } = await command('up')
  expect(code).toBe(0)
  expect(text).toMatch(/^Redis is down: starting it$/m)
  expect((await command('status')).text).toMatch(/Redis +up .*(\n.*)*Keeper +up/)
  await command('down')
})

test('make down stops all of it, though nobody reads along', async () => {
  await command('up')
  const down = spawn(process.execPath, [join(projectDir, 'appliance', 'cli.ts'), 'down'], { env })
  down.stdout.destroy()
  await once(down, 'exit')
  expect((await command('status')).text).toMatch(/QuickLink +down\nPostgres +down\nRedis +down/)
})

test('make upgrade starts the version that is there now, with the same Postgres and Redis', async () => {
  await command('up')
  const [server, redis, postgres] = [pidsOf('server.json'), pidsOf('redis.json'), pidOfPostgres()]
  expect(await command('upgrade', { WORKERS: 'many' })).toMatchObject({ code: 1 })
  expect((await command('status')).text).toMatch(/QuickLink +up .*, ready\)(\n.*)*Keeper +up/)
  expect(await command('upgrade')).toMatchObject({ code: 0 })
  expect([pidsOf('redis.json'), pidOfPostgres()]).toEqual([redis, postgres])
  expect(pidsOf('server.json')).not.toBe(server)
  expect((await command('status')).text).toMatch(/QuickLink +up .*, ready\)(\n.*)*Keeper +up/)
  await command('down')
})

test('what was set at one start holds for the next', async () => {
  const { PORT, OPS_PORT, ...unset } = env
  const at = { ...unset, DATA_DIR: `${dataDir}-settings` }
  env = at
  try {
    expect(await command('up', { PORT, OPS_PORT })).toMatchObject({ code: 0 })
    await command('down')
    expect((await command('settings')).text).toMatch(new RegExp(`^PORT +${PORT} +an earlier start$`, 'm'))
    expect((await command('up')).text).toContain(`QuickLink is running at http://localhost:${PORT}`)
  } finally {
    await command('down')
    env = { ...env, PORT, OPS_PORT, DATA_DIR: dataDir }
  }
})

test('a backup and the snapshot of Redis can be read by their owner alone, and Redis knows QuickLink by its own user', async () => {
  const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8)
  await command('up')
  expect(readFileSync(join(dataDir, 'redis-url'), 'utf8')).toMatch(/^redis:\/\/quicklink:/)
  await command('down')
  expect(modeOf(join(dataDir, 'redis'))).toBe('700')
  expect(modeOf(join(dataDir, 'redis', 'dump.rdb'))).toBe('600')
  expect(await command('backup')).toMatchObject({ code: 0 })
  const folder = join(dataDir, 'backups')
  expect(modeOf(folder)).toBe('700')
  expect(readdirSync(folder).map((name) => modeOf(join(folder, name)))).toEqual(['600'])
})

test('a backup of a QuickLink that runs brings back what was there, and nothing that came later', async () => {
  const { text } = await command('up')
  const visit = async (code: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${env['PORT']}/${code}`, { redirect: 'manual' })).status
  const codeOf = async (): Promise<string> => (JSON.parse(await printedCurl(text)) as { code: string }).code
  const before = await codeOf()
  const made = await command('backup')
  const [, file = ''] = /FILE=(\S+);/.exec(made.text) ?? []
  const later = await codeOf()
  await command('down')
  expect(await command('restore', { FILE: file })).toMatchObject({ code: 0 })
  await command('up')
  await expect.poll(async () => [await visit(before), await visit(later)]).toEqual([302, 404])
  await command('down')
})

test('a Redis that does not start is tried again, and QuickLink starts without it meanwhile', async () => {
  await command('up')
  const file = join(dataDir, 'redis.json')
  const setLines = (lines: readonly string[]): void => {
    writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), lines }))
  }
  const isUp = async (name: string): Promise<boolean> => new RegExp(`${name} +up`).test((await command('status')).text)
  setLines(['nonsense yes'])
  process.kill(pidsOf('redis.json'), 'SIGKILL')
  await waitFor(() => readFileSync(join(dataDir, 'keeper.log'), 'utf8').includes('Redis did not start'), {
    deadlineMs: 30_000,
  })
  const server = pidsOf('server.json')
  process.kill(server, 'SIGKILL')
  const isNew = async (): Promise<boolean> => pidsOf('server.json') !== server && (await isUp('QuickLink'))
  await waitFor(isNew, { deadlineMs: 30_000, everyMs: 500 })
  setLines([])
  await waitFor(() => isUp('Redis'), { deadlineMs: 60_000, everyMs: 500 })
  await command('down')
})

test('what dies during the nightly backup is started again at once', async () => {
  await command('up')
  await command('down')
  const [backups, programs, slow] = ['backups', 'programs', 'slow'].map((name) => join(dataDir, name)) as [string, string, string] // prettier-ignore
  rmSync(backups, { recursive: true, force: true })
  utimesSync(join(dataDir, 'postgres/data/PG_VERSION'), 0, 0)
  mkdirSync(programs)
  writeFileSync(slow, '')
  const gzip = `#!/bin/sh\nwhile [ -e '${slow}' ]; do sleep 0.1; done\nexec ${onPath('gzip')} "$@"\n`
  writeFileSync(join(programs, 'gzip'), gzip, { mode: 0o755 })
  await command('up', { PATH: `${programs}${delimiter}${env['PATH'] ?? ''}` })
  const finished = (): boolean => existsSync(backups) && readdirSync(backups).some((name) => name.endsWith('Z.tar.gz'))
  try {
    await waitFor(() => existsSync(backups) && readdirSync(backups).length > 0, { deadlineMs: 30_000 })
    process.kill(pidsOf('redis.json'), 'SIGKILL')
    await waitFor(async () => /Redis +up/.test((await command('status')).text), { deadlineMs: 30_000, everyMs: 500 })
    expect(finished()).toBe(false)
  } finally {
    rmSync(slow)
  }
  await waitFor(finished, { deadlineMs: 30_000 })
  await command('down')
})

test('logs are rotated while they are written, no line is lost, and make logs goes on', async () => {
  expect(await command('up')).toMatchObject({ code: 0 })
  const followed = spawn(process.execPath, [join(projectDir, 'appliance', 'cli.ts'), 'logs'], { env })
  let shown = ''
  followed.stdout.on('data', (chunk) => (shown += String(chunk)))
  const at = (file: string): string => join(dataDir, file)
  const logs = ['quicklink.log', 'redis/redis.log', 'postgres/postgres.log', 'keeper.log']
  for (const log of logs) appendFileSync(at(log), `${'filler '.repeat(1000)}\n`.repeat(2400))
  await waitFor(() => logs.every((log) => existsSync(at(`${log}.1`))), { deadlineMs: 30_000 })
  // Until the server looks again, what it says is in the file that was renamed, and `tail -F` has left that.
  await pause(limits.logLookMs)

  const [worker = 0] = await workerPids()
  process.kill(worker, 'SIGKILL')
  const redis = JSON.parse(readFileSync(at('redis.json'), 'utf8')) as { port: number; password: string }
  await askRedis(redis.port, redis.password, 'SAVE')
  await promisify(execFile)('node', ['-e', badStatement], { env: { ...env, URL: readFileSync(at('database-url'), 'utf8').trim() }, cwd: projectDir }) // prettier-ignore
  process.kill(pidsOf('redis.json'), 'SIGKILL')
  const said = ['will be replaced', 'DB saved on disk', 'division by zero', 'Redis is up']
  const hasSaid = (n: number): boolean => readFileSync(at(logs[n]!), 'utf8').includes(said[n]!)
  await waitFor(() => logs.every((_, n) => existsSync(at(logs[n] as string)) && hasSaid(n)), { deadlineMs: 30_000 })
  await waitFor(() => shown.includes('will be replaced'), { deadlineMs: 30_000 })
  for (const log of logs) expect(statSync(at(log)).size).toBeLessThan(1_000_000)
  followed.kill()
  expect(await command('down')).toMatchObject({ code: 0 })
})

test('make logs waits for a log that has just been rotated away', async () => {
  const folder = `${dataDir}-rotated`
  mkdirSync(folder)
  writeFileSync(join(folder, 'quicklink.log.1'), 'before\n')
  const followed = spawn(process.execPath, [join(projectDir, 'appliance', 'cli.ts'), 'logs'], {
    env: { ...env, DATA_DIR: folder },
  })
  let shown = ''
  followed.stdout.on('data', (chunk) => (shown += String(chunk)))
  const pid = followed.pid ?? 0
  await waitFor(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8') !== '')
  writeFileSync(join(folder, 'quicklink.log'), 'begun anew\n')
  await waitFor(() => shown.includes('begun anew'))
  followed.kill()
})

const watched = { timeout: 90_000, skip: onPath('prometheus') === undefined }
test("the system's Prometheus scrapes it, under the name that the alerts know", watched, async () => {
  const more = { DATA_DIR: `${dataDir}-watched`, PORT: String(await freePort()), OPS_PORT: String(await freePort()) }
  try {
    const { text } = await command('up', more)
    const [, url = ''] = /Prometheus, with the alerts, is at (\S+)[,;]/.exec(text) ?? []
    await waitFor(async () => {
      const answer = await fetch(`${url}/api/v1/query?query=${encodeURIComponent('up{job="quicklink"} == 1')}`)
      const { data } = (await answer.json()) as { data: { result: unknown[] } }
      expect(data.result).toHaveLength(1)
      return true
    }, { deadlineMs: 40_000, everyMs: 500 }) // prettier-ignore
    // The links of its alerts lead to itself: it is there when QuickLink is not.
    const { data } = (await (await fetch(`${url}/api/v1/status/config`)).json()) as { data: { yaml: string } }
    const [, runbook = ''] = /^ +runbook: (\S+)$/m.exec(data.yaml) ?? []
    expect(runbook).toBe(`${url}/user/runbook.html`)
    expect(await (await fetch(runbook)).text()).toContain('<h2 id="quicklinkdown">')
    expect((await command('status', more)).text).toMatch(/Prometheus +up/)
    expect((await command('doctor', more)).text).toMatch(/^ok +Alerts on the hit rate/m)
  } finally {
    expect((await command('down', more)).text).toMatch(/Prometheus +stopped/)
  }
})

const alertmanager = ['alertmanager', 'prometheus-alertmanager'].find((name) => onPath(name) !== undefined)
const told = { timeout: 120_000, skip: onPath('prometheus') === undefined || alertmanager === undefined }
test('a receiver is told of a test alert, and one that refuses it is said to have not taken it', told, async () => {
  const heard: string[] = []
  let status = 200
  const hook = createHttpServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      heard.push(body)
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
  const { port } = hook.address() as { port: number }
  const more = { DATA_DIR: `${dataDir}-told`, PORT: String(await freePort()), OPS_PORT: String(await freePort()) }
  try {
    expect((await command('up', more)).text).toContain('names who is told')
    expect(await command('test-alert', more)).toMatchObject({ code: 1, text: expect.stringMatching(/^Nobody is told/) as string })
    expect((await command('doctor', more)).text).toMatch(/^not ok +Somebody hears the alerts: nobody: /m)

    // Beside the QuickLink that runs.
    const url = `http://127.0.0.1:${port}/secret`
    expect((await command('up', { ...more, ALERT_WEBHOOK_URL: url })).text).toContain('make test-alert')
    expect((await command('settings', more)).text).toMatch(/ALERT_WEBHOOK_URL +\(a secret\) +an earlier start/)
    expect((await command('test-alert', more)).text).toContain('It was taken by webhook')
    expect(heard.map((body) => (JSON.parse(body) as { commonLabels: object }).commonLabels)).toEqual([
      expect.objectContaining({ alertname: 'QuickLinkTestAlert', severity: 'critical' }),
    ])
    expect((await command('doctor', more)).text).toMatch(/^ok +Somebody hears the alerts: by webhook/m)
    const config = join(`${dataDir}-told`, 'alertmanager', 'alertmanager.yml')
    expect(statSync(config).mode & 0o777).toBe(0o600)

    status = 400
    const refused = await command('test-alert', more)
    expect(refused).toMatchObject({ code: 1, text: expect.stringContaining('did not go out by webhook') as string })
  } finally {
    hook.close()
    expect((await command('down', more)).text).toMatch(/Alertmanager +stopped/)
  }
}) // prettier-ignore

test('a taken port, an impossible value and another mode are each refused with a sentence', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const refused = async (more: NodeJS.ProcessEnv): Promise<string> => {
    const ports = { PORT: String(await freePort()), OPS_PORT: String(await freePort()) }
    const { code, text } = await command('up', { DATA_DIR: `${dataDir}-refused`, ...ports, ...more })
    expect(code).toBe(1)
    return text.trim()
  }
  expect(await refused({ PORT: String(port) })).toMatch(new RegExp(`^Port ${port} is taken .* set PORT to`))
  expect(await refused({ OPS_PORT: String(port) })).toMatch(new RegExp(`^Port ${port} is taken .* set OPS_PORT to`))
  expect(await refused({ WORKERS: 'many' })).toMatch(/^WORKERS must be a whole number/)
  expect(await refused({ MODE: 'podman' })).toBe('MODE is podman, but must be docker or embedded.')
  server.close()
})
