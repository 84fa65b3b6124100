// Servers for an hour, for tests, measurements and drills: child processes, in folders that go with them.
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { canInstall, install } from './apt.ts'
import { type Cluster, initCluster, startCluster } from './cluster.ts'
import { type Daemon, type User, daemon } from './daemon.ts'
import { newPassword } from './paths.ts'
import {
  canEnter,
  installBinaries,
  makeOwnDir,
  makeSymlinks,
  nativePackage,
  postgresUser,
} from './postgres-binaries.ts'
import { freePort } from './process.ts'
import { type RedisProgram, configFileIn, findRedis, launchRedis, onPath } from './redis-process.ts'

export interface LocalServer extends Omit<Daemon, 'pid'> {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Of its command line. */
  readonly word: string
  readonly dir: string
  /** After `stop` or `kill`: on the same port, with the same password, from what is in its folder now. */
  restart(): Promise<void>
}

/** A temporary folder that the user of Postgres can walk through. */
export function makeRunDir(purpose = 'test'): string {
  const user = postgresUser()
  const parent = [tmpdir(), '/tmp', '/var/tmp'].find((dir) => existsSync(dir) && canEnter(dir, user)) ?? tmpdir()
  const dir = mkdtempSync(join(parent, `quicklink-${purpose}-`))
  chmodSync(dir, user ? 0o711 : 0o700)
  return dir
}

export const removeDir = (dir: string): void => rmSync(dir, { recursive: true, force: true, maxRetries: 5 })

/**
 * Ends the process and removes the folder when this process dies without doing so (SIGKILL, a crash): a shell waits for
 * the end of its input. Its children end first: one that is just starting would complain of its parent. Returns how to call it off.
 */
export function dieWithMe(pid: number | undefined, dir = ''): () => void {
  const script = `cat >/dev/null
    if [ -n "$1" ]; then pkill -KILL -P "$1"; kill -QUIT "$1"; kill -CONT "$1"; fi 2>/dev/null
    sleep 1
    if [ -n "$1" ]; then kill -KILL "$1"; fi 2>/dev/null
    if [ -n "$2" ]; then rm -rf "$2"; fi`
  const args = ['-c', script, 'quicklink-test-janitor', String(pid ?? ''), dir]
  const janitor = spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  janitor.unref()
  ;(janitor.stdin as unknown as { unref(): void }).unref()
  return () => janitor.kill('SIGKILL')
}

interface Served extends Pick<LocalServer, 'url' | 'port' | 'word' | 'dir'> {
  readonly stopSignal: NodeJS.Signals
  /** Its pid, when it answers. */
  start(): Promise<number>
}

export async function serve({ start, stopSignal, ...where }: Served): Promise<LocalServer> {
  let pid = await start()
  let callOff = dieWithMe(pid)
  const running = daemon({ pid: () => pid, word: where.word, signals: [[stopSignal, 20_000]] })
  return {
    ...running,
    ...where,
    get pid() {
      return pid
    },
    stop() {
      callOff()
      return running.stop()
    },
    kill() {
      callOff()
      return running.kill()
    },
    async restart() {
      callOff()
      pid = await start()
      callOff = dieWithMe(pid)
    },
  }
}

export interface LocalRedisOptions {
  readonly dir: string
  readonly password?: string
  /** Lines after those of redis.conf, e.g. `maxmemory 10mb`. */
  readonly config?: readonly string[]
}

export async function startLocalRedis(options: LocalRedisOptions): Promise<LocalServer> {
  const { file } = await redisProgram()
  const { dir, password = newPassword(), config: lines = [] } = options
  const port = await freePort()
  // One password for both users: by the URL a server is QuickLink, by the password alone a test is the operator.
  const url = `redis://quicklink:${password}@127.0.0.1:${port}`
  const how = { file, dir, port, password, quicklinkPassword: password, lines, detached: false, deadlineMs: 20_000 }
  const start = (): Promise<number> => launchRedis(how)
  return serve({ url, port, word: configFileIn(dir), dir, stopSignal: 'SIGTERM', start })
}

export async function redisProgram(): Promise<RedisProgram> {
  let found = findRedis()
  if (!found.program && canInstall()) {
    await installForTests('redis-server')
    found = findRedis()
  }
  if (found.program) return found.program
  throw new Error('The tests need a redis-server 7.0 (or valkey-server 8) or later: install it, or start Docker.')
}

const installForTests = (name: Parameters<typeof install>[0]): Promise<boolean> =>
  install(name, join(tmpdir(), 'quicklink-test-apt.log'), (line) => console.log(line))

/** Undefined where it is not there and cannot be installed. */
export async function pgbouncerProgram(): Promise<string | undefined> {
  if (onPath('pgbouncer') === undefined && canInstall()) await installForTests('pgbouncer')
  return onPath('pgbouncer')
}

/** Debian's, the oldest that QuickLink supports; undefined where it is not there and cannot be installed. */
export async function postgres15BinDir(): Promise<string | undefined> {
  const binDir = '/usr/lib/postgresql/15/bin'
  const initdb = join(binDir, 'initdb')
  if (!existsSync(initdb) && canInstall()) await installForTests('postgresql-15')
  return existsSync(initdb) ? binDir : undefined
}

/** In place where Postgres' user can enter node_modules, else a copy. */
function localBinDir(runDir: string, user: User | undefined): string {
  const { dir } = nativePackage()
  if (!canEnter(join(dir, 'bin'), user)) return installBinaries(join(runDir, 'postgres'))
  makeSymlinks(dir)
  return join(dir, 'bin')
}

export interface LocalPostgresOptions {
  /** Its data will be in `dir/data`. */
  readonly dir: string
  readonly runDir: string
  readonly superuserPassword?: string | undefined
  /** A data folder to copy, made with the same password: much faster than initdb. */
  readonly template?: string | undefined
  /** Other programs than those from npm. */
  readonly binDir?: string | undefined
  /** As `name=value`. */
  readonly settings?: readonly string[]
}

const testSettings = [
  // The tests kill processes, not machines: what was committed is with the kernel by then.
  'fsync=off',
  'full_page_writes=off',
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=300',
  'shared_buffers=64MB',
  'timezone=UTC',
]

export async function startLocalPostgres(options: LocalPostgresOptions): Promise<LocalServer> {
  const { dir, superuserPassword = newPassword(), settings = [] } = options
  const port = await freePort()
  const cluster = await makeCluster({ ...options, superuserPassword })
  const how = { port, settings: [...testSettings, ...settings], detached: false, deadlineMs: 30_000 }
  return serve({
    url: `postgres://postgres:${superuserPassword}@127.0.0.1:${port}/postgres`,
    port,
    word: cluster.dataDir,
    dir,
    stopSignal: 'SIGINT',
    start: () => startCluster(cluster, how),
  })
}

export async function makeCluster(options: LocalPostgresOptions & { superuserPassword: string }): Promise<Cluster> {
  const { dir, runDir, template } = options
  const user = postgresUser()
  mkdirSync(dirname(dir), { recursive: true })
  makeOwnDir(dir, user)
  const dataDir = join(dir, 'data')
  const binDir = options.binDir ?? localBinDir(runDir, user)
  const cluster = { binDir, dataDir, logFile: join(dir, 'postgres.log'), user }
  if (existsSync(dataDir)) return cluster
  if (template) execFileSync('cp', ['-a', template, dataDir])
  else await initCluster(cluster, options.superuserPassword, false)
  return cluster
}
