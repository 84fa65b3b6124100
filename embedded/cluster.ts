// One PostgreSQL data folder and the process on it. Used by `make up` and by the tests.
import { execFile } from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
  chownSync,
  realpathSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Refusal, readText } from './paths.ts'
import { type Daemon, type User, daemon, launch } from './daemon.ts'
import { isOurs } from './process.ts'
import { until } from './wait.ts'

export interface Cluster {
  readonly binDir: string
  readonly dataDir: string
  readonly logFile: string
  readonly user: User | undefined
}

// Nothing of ours leaks in (PGPORT, PGOPTIONS, secrets), and messages are the same everywhere.
const env = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }

/** Whole or not at all: a start that was killed on the way begins anew. */
export async function initCluster(cluster: Cluster, superuserPassword: string, durable: boolean): Promise<void> {
  const { dataDir, user } = cluster
  const unfinished = `${dataDir}.new`
  const passwordFile = `${dataDir}.password`
  rmSync(unfinished, { recursive: true, force: true })
  try {
    writeFileSync(passwordFile, superuserPassword, { mode: 0o600 })
    if (user) chownSync(passwordFile, user.uid, user.gid)
    const args = [
      `--pgdata=${unfinished}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      ...(await builtinLocale(cluster)),
      ...(durable ? [] : ['--no-sync']),
    ]
    await promisify(execFile)(join(cluster.binDir, 'initdb'), args, { cwd: dirname(dataDir), env, ...user })
    renameSync(unfinished, dataDir)
  } catch (error) {
    throw new Refusal(
      `Postgres could not make its data folder: ${(error as { stderr?: string }).stderr ?? String(error)}`,
    )
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

/** Built in, so that no index depends on the C library of the machine and its next version. PostgreSQL 17 began it. */
async function builtinLocale({ binDir }: Cluster): Promise<string[]> {
  const { stdout } = await promisify(execFile)(join(binDir, 'initdb'), ['--version'], { env })
  const major = Number(/\) (\d+)/.exec(stdout)?.[1])
  return major < 17 ? [] : ['--locale-provider=builtin', '--builtin-locale=C.UTF-8']
}

function lockFile(dataDir: string) {
  const lines = readText(join(dataDir, 'postmaster.pid'))?.split('\n')
  return lines && { pid: Number(lines[0]), port: Number(lines[3]), status: (lines[7] ?? '').trim() }
}

export function running(dataDir: string): { pid: number; port: number } | undefined {
  const lock = lockFile(dataDir)
  return lock && isOurs(lock.pid, dataDir) ? lock : undefined
}

/** A killed postmaster leaves a lock file and, for a moment, children. */
async function clearRemains(dataDir: string): Promise<void> {
  if (!(await until(() => !hasOrphans(dataDir), 10_000))) {
    throw new Refusal('Processes of an earlier Postgres still use its data and do not end: stop them, then try again.')
  }
  // Postgres itself clears a lock whose pid is free. It does not when the pid is another process's by now.
  rmSync(join(dataDir, 'postmaster.pid'), { force: true })
}

/** Every process of Postgres stands in its data folder. (Where there is no /proc, Postgres' own check has to do.) */
function hasOrphans(dataDir: string): boolean {
  if (process.platform !== 'linux') return false
  const folder = realpathSync(dataDir)
  return readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      return readlinkSync(`/proc/${name}/cwd`) === folder
    } catch {
      return false
    }
  })
}

export interface StartCluster {
  readonly port: number
  /** As `name=value`. */
  readonly settings: readonly string[]
  readonly detached: boolean
  readonly deadlineMs?: number
}

/** Returns when it accepts connections. */
export async function startCluster(cluster: Cluster, options: StartCluster): Promise<number> {
  const { dataDir, binDir, logFile, user } = cluster
  await clearRemains(dataDir)
  const file = join(binDir, 'postgres')
  const args = ['-D', dataDir, '-p', String(options.port), ...options.settings.flatMap((each) => ['-c', each])]
  return launch({
    ...{ name: 'Postgres', file, args, cwd: dirname(dataDir), env, logFile, detached: options.detached, user },
    // What pg_ctl looks at, too. After a crash, recovery comes first and may take its time.
    ready(pid) {
      const lock = lockFile(dataDir)
      return lock?.pid === pid && lock.status === 'ready'
    },
    deadlineMs: options.deadlineMs ?? 120_000,
    giveUp: 'SIGQUIT',
  })
}

/** Stopped by a fast shutdown: open transactions are rolled back, everything committed is on disk. */
export const clusterDaemon = (dataDir: string): Daemon =>
  daemon({ pid: () => lockFile(dataDir)?.pid, word: dataDir, signals: [['SIGINT', 30_000], ['SIGQUIT', 10_000]] }) // prettier-ignore

export const majorOf = (dataDir: string): string | undefined => readText(join(dataDir, 'PG_VERSION'))?.trim()

export const exists = (dataDir: string): boolean => existsSync(join(dataDir, 'PG_VERSION'))
