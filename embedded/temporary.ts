// Real servers as child processes of the tests, in folders that go with them.
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Cluster, initCluster, startCluster } from './cluster.ts'
import {
  canEnter,
  installBinaries,
  makeOwnDir,
  makeSymlinks,
  nativePackage,
  postgresUser,
} from './postgres-binaries.ts'
import { type User, family, freePort, isOurs, signalAll } from './process.ts'
import { canInstall, install } from './apt.ts'
import { type RedisProgram, configFileIn, findRedis, logFileIn, redisReady, spawnRedis } from './redis-process.ts'
import { lastLines } from './paths.ts'
import { waitFor } from './wait.ts'

export interface LocalServer {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly dir: string
  /** As an operator stops it; Redis writes its snapshot. */
  stop(): Promise<void>
  /** SIGKILL, for Postgres to all of its processes. */
  kill(): Promise<void>
  /** SIGSTOP: connections stay open, nothing answers. */
  pause(): void
  resume(): void
  /** After `stop` or `kill`: on the same port, with the same password, from what is in its folder now. */
  restart(): Promise<void>
}

export const newPassword = (): string => randomBytes(18).toString('base64url')

/** A temporary folder that the user of Postgres can walk through. */
export function makeRunDir(user: User | undefined, purpose = 'test'): string {
  const parent = [tmpdir(), '/tmp', '/var/tmp'].find((dir) => existsSync(dir) && canEnter(dir, user)) ?? tmpdir()
  const dir = mkdtempSync(join(parent, `quicklink-${purpose}-`))
  chmodSync(dir, user ? 0o711 : 0o700)
  return dir
}

/**
 * Ends the process and removes the folder when this process dies without doing so (SIGKILL, a crash): a shell waits for
 * the end of its input. Returns how to call it off.
 */
export function dieWithMe(pid: number | undefined, dir = ''): () => void {
  const script = `cat >/dev/null
    if [ -n "$1" ]; then kill -QUIT "$1"; kill -CONT "$1"; sleep 1; kill -KILL "$1"; fi 2>/dev/null
    if [ -n "$2" ]; then rm -rf "$2"; fi`
  const args = ['-c', script, 'quicklink-test-janitor', String(pid ?? ''), dir]
  const janitor = spawn('/bin/sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
  janitor.unref()
  ;(janitor.stdin as unknown as { unref(): void }).unref()
  return () => janitor.kill('SIGKILL')
}

interface Running {
  readonly pid: number
  readonly port: number
  /** Of the command line: what tells it from a stranger that got its pid. */
  readonly word: string
  readonly callOff: () => void
}

/** What Redis and Postgres have in common, over their ways to start and to list their processes. */
async function serve(
  dir: string,
  startOn: (port: number | undefined) => Promise<Running>,
  traits: { url: (port: number) => string; stopSignal: NodeJS.Signals; family: (pid: number) => number[] },
): Promise<LocalServer> {
  let now = await startOn(undefined)
  const { port } = now
  const end = async (signal: NodeJS.Signals, pids: number[]): Promise<void> => {
    now.callOff()
    if (!isOurs(now.pid, now.word)) return
    signalAll(pids, signal)
    signalAll(pids, 'SIGCONT')
    await waitFor(() => !isOurs(now.pid, now.word), { deadlineMs: 20_000 })
  }
  return {
    url: traits.url(port),
    port,
    dir,
    get pid() {
      return now.pid
    },
    stop: () => end(traits.stopSignal, [now.pid]),
    kill: () => end('SIGKILL', traits.family(now.pid)),
    pause: () => signalAll(traits.family(now.pid), 'SIGSTOP'),
    resume: () => signalAll(traits.family(now.pid), 'SIGCONT'),
    async restart() {
      now = await startOn(port)
    },
  }
}

export interface LocalRedisOptions {
  readonly dir: string
  readonly port?: number
  readonly password?: string
  /** Lines after those of redis.conf, e.g. `maxmemory 10mb`. */
  readonly config?: readonly string[]
}

export async function startLocalRedis(options: LocalRedisOptions): Promise<LocalServer> {
  const { file } = await redisProgram()
  const { dir, password = newPassword(), config = [] } = options
  const startOn = async (again: number | undefined): Promise<Running> => {
    const port = again ?? options.port ?? (await freePort())
    // One password for both users: by the URL a server is QuickLink, by the password alone a test is the operator.
    const users = { password, quicklinkPassword: password }
    const child = await spawnRedis({ file, dir, port, ...users, lines: config, detached: false })
    const callOff = dieWithMe(child.pid)
    if (await redisReady(child, port, password, 20_000)) {
      return { pid: child.pid, port, word: configFileIn(dir), callOff }
    }
    callOff()
    child.kill('SIGKILL')
    throw new Error(`redis-server did not start on port ${port}:\n${lastLines(logFileIn(dir), 10)}`)
  }
  const url = (port: number): string => `redis://quicklink:${password}@127.0.0.1:${port}`
  return serve(dir, startOn, { url, stopSignal: 'SIGTERM', family: (pid) => [pid] })
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

/** Debian's, the oldest that QuickLink supports; undefined where it is not there and cannot be installed. */
export async function postgres15BinDir(): Promise<string | undefined> {
  const binDir = '/usr/lib/postgresql/15/bin'
  const initdb = join(binDir, 'initdb')
  if (!existsSync(initdb) && canInstall()) await installForTests('postgresql-15')
  return existsSync(initdb) ? binDir : undefined
}

/** In place where Postgres' user can enter node_modules, else a copy. */
export function localBinDir(runDir: string, user: User | undefined): string {
  const { dir } = nativePackage()
  if (!canEnter(join(dir, 'bin'), user)) return installBinaries(join(runDir, 'postgres'))
  makeSymlinks(dir)
  return join(dir, 'bin')
}

export interface LocalPostgresOptions {
  /** Its data will be in `dir/data`. */
  readonly dir: string
  readonly runDir: string
  readonly port?: number
  readonly superuserPassword: string
  /** A data folder to copy, made with the same password: much faster than initdb. */
  readonly template?: string | undefined
  /** Other programs than those from npm. */
  readonly binDir?: string | undefined
  /** As `name=value`. */
  readonly settings?: readonly string[]
}

// fsync off: the tests kill processes, not machines. What was committed is with the kernel by then.
const testSettings = [
  ['fsync', 'off'],
  ['full_page_writes', 'off'],
  ['listen_addresses', '127.0.0.1'],
  ['unix_socket_directories', ''],
  ['max_connections', '300'],
  ['shared_buffers', '64MB'],
  ['timezone', 'UTC'],
] as const

export async function startLocalPostgres(options: LocalPostgresOptions): Promise<LocalServer> {
  const cluster = await makeCluster(options)
  const given = (options.settings ?? []).map((line): readonly [string, string] => {
    const at = line.indexOf('=')
    return [line.slice(0, at), line.slice(at + 1)]
  })
  const startOn = async (again: number | undefined): Promise<Running> => {
    const port = again ?? options.port ?? (await freePort())
    const settings = [...testSettings, ...given]
    const pid = await startCluster(cluster, { port, settings, detached: false, deadlineMs: 30_000 })
    return { pid, port, word: cluster.dataDir, callOff: dieWithMe(pid) }
  }
  const url = (port: number): string => `postgres://postgres:${options.superuserPassword}@127.0.0.1:${port}/postgres`
  return serve(options.dir, startOn, { url, stopSignal: 'SIGINT', family })
}

export async function makeCluster(options: LocalPostgresOptions): Promise<Cluster> {
  const { dir, runDir, template } = options
  const user = postgresUser()
  mkdirSync(dirname(dir), { recursive: true })
  makeOwnDir(dir, user)
  const dataDir = join(dir, 'data')
  const cluster = {
    binDir: options.binDir ?? localBinDir(runDir, user),
    dataDir,
    logFile: join(dir, 'postgres.log'),
    user,
  }
  if (existsSync(dataDir)) return cluster
  if (template) execFileSync('cp', ['-a', template, dataDir])
  else await initCluster(cluster, options.superuserPassword, false)
  return cluster
}

export const removeDir = (dir: string): void => rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
