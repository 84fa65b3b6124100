import { existsSync, readFileSync, statSync } from 'node:fs'
import { loadConfig, type Config } from '../server/config.ts'
import { type Places, Refusal, readJson, shown } from '../embedded/paths.ts'
import { alertmanagerLogFile, runningAlertmanager, runningPrometheus } from '../embedded/monitoring.ts'
import { askRedis } from '../embedded/redis-process.ts'
import { fetchOps, runningServer } from '../embedded/server.ts'
import { lastBackupMs } from '../embedded/backup.ts'
import { databaseOf } from '../embedded/postgres.ts'
import { withSql } from '../embedded/sql.ts'
import { keeperDaemon } from '../embedded/keeper.ts'
import { hasService } from '../embedded/service.ts'
import { type Patient, type Points, finding } from './patient.ts'
import type { Alertmanager } from './test-alert.ts'

interface Service {
  readonly port: number
  readonly password: string
}

/** What Docker brings with it. */
const stayingUp = (places: Places, url: string): Points => ({
  'Short URLs lead here from elsewhere'() {
    const isLocal = /^(localhost|127\.|\[::1\])/.test(new URL(url).hostname)
    return finding(
      !isLocal,
      isLocal
        ? `they begin with ${url}, which is this machine alone: \`make down\`, then \`PUBLIC_URL=https://… make up\``
        : url,
    )
  },
  'A backup of the last 26 hours'() {
    const hours = Math.floor((Date.now() - lastBackupMs(places)) / 3_600_000)
    return finding(
      hours < 26,
      `the last one, or the database itself, is ${hours} hours old${hours < 26 ? '' : ': `make backup` now'}`,
    )
  },
  'Somebody starts again what dies'() {
    const runs = keeperDaemon(places).pid() !== undefined
    return finding(runs, runs ? 'the keeper runs' : 'the keeper does not run: `make up`')
  },
  'It is there after a reboot'() {
    return finding(hasService(), hasService() ? 'a systemd unit starts it' : '`make service` writes a systemd unit')
  },
})

export function embeddedAlertmanager(places: Places): Alertmanager | undefined {
  const running = runningAlertmanager(places)
  if (!running) return undefined
  const asked = async (path: string, init?: RequestInit): Promise<string> => {
    const answer = await fetch(running.url + path, { ...init, signal: AbortSignal.timeout(5000) })
    if (!answer.ok) throw new Refusal(`Alertmanager answered ${answer.status} to ${path}.`)
    return answer.text()
  }
  const headers = { 'Content-Type': 'application/json' }
  return {
    get: (path) => asked(path),
    post: (path, body) => asked(path, { method: 'POST', headers, body }),
    log: shown(alertmanagerLogFile(places)),
  }
}

export function embeddedPatient(places: Places): Patient {
  const server = runningServer(places)
  if (!server) throw new Refusal('QuickLink is not running here: `make up` first.')
  const prometheus = runningPrometheus(places)
  const { port, password } = readJson<Service>(places.redisFile) ?? {}
  const hasRedis = existsSync(places.redisUrlFile) && port !== undefined && password !== undefined
  // What it was started with, not what this command is started with.
  const environment = (): Record<string, string> => {
    const lines = readFileSync(`/proc/${server.pid}/environ`, 'utf8').split('\0')
    return Object.fromEntries(lines.map((line) => [line.replace(/=.*/s, ''), line.replace(/^[^=]*=/s, '')]))
  }
  const config = (): Config => loadConfig(environment())
  return {
    ops: async (path) => {
      const answer = await fetchOps(server, path)
      if (!answer) throw new Error('the ops port does not answer')
      return answer.text
    },
    visit: async (codes) => {
      await Promise.all(codes.map((code) => fetch(`${server.localUrl}/${code}`)))
    },
    redis: hasRedis
      ? async (command) => {
          const answer = await askRedis(port, password, command.join(' '))
          if (answer === undefined) throw new Error('Redis does not answer')
          return answer
        }
      : undefined,
    nodes: () => Promise.resolve([]),
    postgres: async (statement) => {
      const { adminUrl } = databaseOf(places)
      if (adminUrl === undefined) throw new Error('Postgres does not run')
      const [row] = await withSql(adminUrl, (sql) => sql.query(statement), { connectMs: 2000, queryMs: 2000 })
      return String(Object.values(row ?? {})[0])
    },
    settings: () => Promise.resolve({ ...config(), trustProxy: environment()['TRUST_PROXY'] || 'off' }),
    prometheus: prometheus && (async (path) => (await fetch(prometheus.url + path)).text()),
    alertmanager: embeddedAlertmanager(places),
    exposed: async () => {
      if (!hasRedis) return []
      const bound = (await askRedis(port, password, 'config get bind'))?.trim().split(/\r?\n/).at(-1)
      return bound === '127.0.0.1' ? [] : [`Redis at ${bound ?? 'an unknown address'}`]
    },
    open: () => {
      const { host, port } = config()
      return Promise.resolve(/^(127\.|::1$|localhost$)/.test(host) ? [] : [`port ${port} of ${host} (HOST)`])
    },
    leaks: () => {
      const { ownerKeyFile, databaseUrlFile, redisUrlFile, postgresFile, redisFile } = places
      const secrets = [ownerKeyFile, databaseUrlFile, redisUrlFile, postgresFile, redisFile]
      const open = secrets.filter((file) => existsSync(file) && (statSync(file).mode & 0o077) !== 0)
      return Promise.resolve(open.map((file) => `others may read ${shown(file)}: chmod 600`))
    },
    more: stayingUp(places, server.url),
  }
}
