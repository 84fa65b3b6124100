// The Postgres of `make up`: its place, its settings, its role and database.
//
//   what a restore has left to do ──▶ settings file ──▶ programs copied ──▶ initdb ──▶ started ──▶ role and database
// Each step is done if it is not done yet, so that a start that was killed anywhere is finished by the next one.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectionsPerWorker } from '../server/connections/databases.ts'
import { type Cluster, exists, initCluster, majorOf, clusterDaemon, running, startCluster } from './cluster.ts'
import type { Daemon, Stopped, User } from './daemon.ts'
import {
  type Places,
  Refusal,
  type Say,
  makeDataDir,
  newPassword,
  projectDir,
  readJson,
  rotate,
  writeJson,
  writePrivate,
} from './paths.ts'
import {
  canEnter,
  installBinaries,
  isOldBinaries,
  makeOwnDir,
  nativePackage,
  postgresUser,
} from './postgres-binaries.ts'
import { freePort } from './process.ts'
import { endRestore, putInPlace } from './restoring.ts'
import { servicePort } from './server.ts'
import { withSql } from './sql.ts'

interface Settings {
  /** Where programs and data live. */
  readonly home: string
  readonly port: number
  /** Of the superuser `postgres`, for its operator. */
  readonly superuserPassword: string
  /** Of `quicklink`, which owns its database and nothing else. */
  readonly password: string
}

const logName = 'postgres.log'

const serverSettings = (
  home: string,
  workers: number,
): readonly (readonly [name: string, value: string, why: string])[] => [
  ['listen_addresses', '127.0.0.1', 'nobody but this machine needs it'],
  ['unix_socket_directories', '', 'no socket in a folder that everybody shares'],
  ['password_encryption', 'scram-sha-256', 'the password itself is never stored or sent'],
  [
    'max_connections',
    String(Math.max(200, connectionsPerWorker * workers + 30)),
    'for every worker, with room for tools and a person',
  ],
  ['shared_buffers', '256MB', 'a million links and their index fit; the system caches the rest'],
  ['fsync', 'on', 'an acknowledged link survives a power cut'],
  ['synchronous_commit', 'on', 'the same'],
  ['full_page_writes', 'on', 'the same, for pages torn by the cut'],
  ['max_wal_size', '1GB', 'click counts write steadily: checkpoints come by time, not in the middle of a burst'],
  ['idle_in_transaction_session_timeout', '60s', 'a forgotten transaction must not hold back vacuum'],
  ['timezone', 'UTC', 'hours and months are counted the same everywhere'],
  ['log_timezone', 'UTC', 'the same'],
  ['logging_collector', 'on', 'one process writes the log, and can be told to open it anew'],
  ['log_directory', home, 'where `make up` rotates it'],
  ['log_filename', logName, 'the same'],
  ['log_rotation_age', '0', 'the same'],
  ['log_rotation_size', '0', 'the same'],
  ['log_checkpoints', 'off', 'the log has what needs a person'],
]

export async function startPostgres(places: Places, workers: number, say: Say): Promise<{ url: string }> {
  const user = postgresUser()
  if (postgresDaemon(places).pid() === undefined) putInPlace(places)
  const settings = await readSettings(places, user, say)
  const cluster = clusterOf(settings, user)
  const already = running(cluster.dataDir)
  if (already) return finish(places, settings, already.port)

  makeOwnDir(settings.home, user)
  for (const name of readdirSync(settings.home)) {
    if (isOldBinaries(name, cluster.binDir)) rmSync(join(settings.home, name), { recursive: true, force: true })
  }
  installBinaries(settings.home)
  if (!exists(cluster.dataDir)) {
    say('Making the Postgres data folder')
    await initCluster(cluster, settings.superuserPassword, true)
  }
  refuseOtherMajor(cluster.dataDir)
  rotate(cluster.logFile)
  const port = await servicePort(places, 'Postgres', settings.port)
  const given = serverSettings(settings.home, workers).map(([name, value]) => `${name}=${value}`)
  await startCluster(cluster, { port, settings: given, detached: true })
  return finish(places, settings, port)
}

async function finish(places: Places, settings: Settings, port: number): Promise<{ url: string }> {
  if (port !== settings.port) writeJson(places.postgresFile, { ...settings, port })
  await makeDatabase(urlOf('postgres', settings.superuserPassword, port, 'postgres'), settings.password)
  const url = urlOf('quicklink', settings.password, port, 'quicklink')
  await endRestore(places, url)
  writePrivate(places.databaseUrlFile, `${url}\n`)
  return { url }
}

const urlOf = (role: string, password: string, port: number, database: string): string =>
  `postgres://${role}:${password}@127.0.0.1:${port}/${database}`

const clusterOf = ({ home }: Settings, user: User | undefined): Cluster => ({
  binDir: join(home, `postgresql-${nativePackage().version}`, 'native', 'bin'),
  dataDir: join(home, 'data'),
  logFile: join(home, logName),
  user,
})

async function readSettings(places: Places, user: User | undefined, say: Say): Promise<Settings> {
  const known = readJson<Settings>(places.postgresFile)
  if (known?.home && known.password && known.superuserPassword && known.port) return known as Settings
  makeDataDir(places)
  const home = chooseHome(places, user, say)
  const settings = { home, port: await freePort(), superuserPassword: newPassword(), password: newPassword() }
  writeJson(places.postgresFile, settings)
  return settings
}

function chooseHome(places: Places, user: User | undefined, say: Say): string {
  const id = createHash('sha256').update(places.dataDir).digest('hex').slice(0, 12)
  const home = canEnter(places.dataDir, user) ? places.postgresDir : `/var/lib/quicklink-${id}`
  if (home !== places.postgresDir) say(`Postgres cannot enter this folder as user "postgres": its data is in ${home}`)
  if (existsSync(join(home, 'data'))) {
    // Data of a project folder that was removed since; its password went with it.
    const aside = `${home}-${new Date().toISOString().replace(/[:.]/g, '')}`
    renameSync(home, aside)
    say(`Data of an earlier QuickLink in this place is kept in ${aside}`)
  }
  return home
}

function refuseOtherMajor(dataDir: string): void {
  const have = nativePackage().version.split('.')[0]
  const made = majorOf(dataDir)
  if (made === have) return
  throw new Refusal(
    `The data in ${dataDir} is of PostgreSQL ${made}, and this QuickLink brings ${have}: ` +
      `check out the version that made it (in ${projectDir}), dump, and load the dump here.`,
  )
}

const makeDatabase = (adminUrl: string, password: string): Promise<void> =>
  withSql(adminUrl, async (admin) => {
    // The password is of our own making: nothing in it needs quoting.
    const [role] = await admin.query("select 1 from pg_roles where rolname = 'quicklink'")
    if (!role) await admin.query(`create role quicklink login password '${password}'`)
    const [database] = await admin.query("select 1 from pg_database where datname = 'quicklink'")
    if (!database) await admin.query('create database quicklink owner quicklink')
  })

const homeOf = ({ postgresFile, postgresDir }: Places): string => readJson<Settings>(postgresFile)?.home ?? postgresDir
const dataOf = (places: Places): string => join(homeOf(places), 'data')

export const postgresDaemon = (places: Places): Daemon => clusterDaemon(dataOf(places))

export const stopPostgres = (places: Places): Promise<Stopped> => postgresDaemon(places).stop()

/** While it runs. */
export function rotatePostgresLog(places: Places): void {
  const server = running(dataOf(places))
  if (!server || !rotate(join(homeOf(places), logName))) return
  // What pg_ctl does for `logrotate`.
  writeFileSync(join(dataOf(places), 'logrotate'), '')
  process.kill(server.pid, 'SIGUSR1')
}

/** The data folder, and, while Postgres runs, its operator's URL. */
export function databaseOf(places: Places): { data: string; adminUrl: string | undefined } {
  const data = dataOf(places)
  if (!exists(data)) throw new Refusal('There is no database here yet: `make up` makes one.')
  const server = running(data)
  const password = readJson<Settings>(places.postgresFile)?.superuserPassword ?? ''
  return { data, adminUrl: server && urlOf('postgres', password, server.port, 'postgres') }
}

/** The data folder of a Postgres that is down. */
export function stoppedData(places: Places, command: string): string {
  const data = dataOf(places)
  if (!exists(data))
    throw new Refusal(`There is no database here yet: \`make up\` and \`make down\`, then \`${command}\`.`)
  if (running(data)) throw new Refusal(`Postgres is running: \`make down\` first, then \`${command}\`.`)
  return data
}

export async function postgresVersion(places: Places): Promise<{ version: string; port: number } | undefined> {
  const server = running(dataOf(places))
  const password = readJson<Settings>(places.postgresFile)?.password
  if (!server || !password) return undefined
  const ask = "select current_setting('server_version') as version"
  const version = await withSql(
    urlOf('quicklink', password, server.port, 'quicklink'),
    async (sql) => (await sql.query<{ version: string }>(ask))[0]?.version ?? 'unknown',
    { connectMs: 2000, queryMs: 2000 },
  ).catch((error: unknown) => `does not answer: ${(error as Error).message}`)
  return { version, port: server.port }
}
