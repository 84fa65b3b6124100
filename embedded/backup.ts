// `make backup` and `make restore FILE=…` without Docker. The PostgreSQL from npm has neither pg_dump nor pg_basebackup, and
// those of the system may be older than the server, which they then refuse: so the data folder is copied, whole.
import { execFile } from 'node:child_process'
import {
  chownSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync, statSync, writeFileSync,
} from 'node:fs' // prettier-ignore
import { open } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { keeperDaemon } from './keeper.ts'
import { alone } from './lock.ts'
import { type Places, Refusal, type Say, projectDir, shown } from './paths.ts'
import { databaseOf, startPostgres, stopPostgres, stoppedData } from './postgres.ts'
import { isOurs, programName } from './process.ts'
import { beginRestore, putInPlace } from './restoring.ts'
import { runningServer } from './server.ts'
import type { Postgres } from '../server/connections/postgres.ts'
import { withSql } from './sql.ts'

const stamp = (): string => new Date().toISOString().replace(/[-:]|\.\d+/g, '')

export function backupFile(places: Places, prefix: string, extension: string): string {
  const folder = join(places.dataDir, 'backups')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return join(folder, `${prefix}-${stamp()}.${extension}`)
}

export function fileGiven(env: NodeJS.ProcessEnv): string {
  const given = env['FILE']
  if (!given) throw new Refusal('FILE is missing: say which backup, e.g. make restore FILE=.quicklink/backups/….')
  const file = resolve(projectDir, given)
  if (!existsSync(file)) throw new Refusal(`FILE names ${given}, which is not there.`)
  return file
}

export const sizeOf = (file: string): string => `${(statSync(file).size / 1024).toFixed(0)} kB`

/** What somebody has made by hand stays until somebody removes it. */
type Name = 'quicklink' | 'quicklink-nightly'

/** The data folder as it is, or, of a Postgres that runs, as it was at some moment of the copying. */
export async function backup(places: Places, say: Say, name: Name = 'quicklink'): Promise<void> {
  if (databaseOf(places).adminUrl !== undefined) await copy(places, name, say)
  // What is copied as it is must not be started meanwhile: the copy would be torn.
  else await alone(places, () => copy(places, name, say))
}

async function copy(places: Places, name: Name, say: Say): Promise<void> {
  const { data, adminUrl } = databaseOf(places)
  const file = backupFile(places, name, 'tar.gz')
  removeLeftovers(dirname(file))
  const { bavail, bsize } = statfsSync(dirname(file))
  refuseWithoutRoom(shown(dirname(file)), sizeOfFolder(data), bavail * bsize)
  const unfinished = `${file}.${process.pid}.${programName}.unfinished.tar`
  const names = ['postgres.json', 'owner-key'].filter((each) => existsSync(join(places.dataDir, each)))
  try {
    // tar leaves the rights of a file that is there.
    for (const each of [unfinished, `${unfinished}.gz`]) writeFileSync(each, '', { mode: 0o600 })
    const folders = ['-C', dirname(data), basename(data), '-C', places.dataDir, ...names]
    const create = (...more: string[]): Promise<void> =>
      tar(['--create', '--numeric-owner', `--file=${unfinished}`, ...more, ...folders])
    if (adminUrl === undefined) await create()
    else await whileRunning(adminUrl, data, unfinished, create)
    await promisify(execFile)('gzip', ['--force', unfinished])
    await onDisk(`${unfinished}.gz`)
    renameSync(`${unfinished}.gz`, file)
  } finally {
    for (const each of [unfinished, `${unfinished}.gz`]) rmSync(each, { force: true })
  }
  say(`Wrote ${shown(file)} (${sizeOf(file)}), with the owner key in it.`)
  say(`To bring it back: make down; make restore FILE=${shown(file)}; make up`)
}

/** Of whoever was killed while it made one. */
function removeLeftovers(folder: string): void {
  for (const name of readdirSync(folder).filter((each) => each.includes('.unfinished.'))) {
    const [, pid, word] = /\.gz\.(\d+)\.(.+)\.unfinished\./.exec(name) ?? []
    const isMade = word !== undefined && isOurs(Number(pid), word)
    if (!isMade) rmSync(join(folder, name), { recursive: true, force: true })
  }
}

function sizeOfFolder(folder: string): number {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  // Postgres may remove one meanwhile.
  return names.reduce((sum, name) => sum + (lstatSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0)
}

/** The copy, and the same compressed: a disk that a backup fills stops Postgres, too. In bytes. */
export function refuseWithoutRoom(folder: string, size: number, free: number): void {
  if (free >= 2 * size) return
  const megabytes = (bytes: number): string => `${Math.floor(bytes / 1024 / 1024)} MB`
  throw new Refusal(
    `A backup needs ${megabytes(2 * size)} while it is made, and ${folder} has ${megabytes(free)}: make room.`,
  )
}

/** The one before may be removed after this, and the power may fail. */
async function onDisk(file: string): Promise<void> {
  const handle = await open(file)
  await handle.sync().finally(() => handle.close())
}

/** What a Postgres that starts from a copy makes itself, or must not find. */
const notCopied = ['pg_wal/*', 'pg_replslot/*', 'pg_dynshmem/*', 'pg_notify/*', 'pg_snapshots/*', 'pg_stat_tmp/*', 'pg_subtrans/*', 'postmaster.*'] // prettier-ignore

/**
 * A copy of files that change is whole together with the log of these changes. So Postgres is told before and after, and keeps
 * its log meanwhile (a slot that goes with the connection). Its documentation calls it a low-level base backup.
 */
async function whileRunning(
  adminUrl: string,
  data: string,
  file: string,
  create: (...more: string[]) => Promise<void>,
) {
  const folder = basename(data)
  const label = `${file}.label`
  const patience = { maxConnections: 1, queryMs: 600_000 }
  const work = async (sql: Pick<Postgres, 'query'>): Promise<void> => {
    await sql.query('select pg_create_physical_replication_slot($1, true, true)', [`backup_${process.pid}`])
    await sql.query("select pg_backup_start('quicklink', true)")
    await create(...notCopied.map((name) => `--exclude=${folder}/${name}`))
    const [stopped] = await sql.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    mkdirSync(join(label, folder), { recursive: true, mode: 0o700 })
    const inside = join(label, folder, 'backup_label')
    writeFileSync(inside, stopped?.labelfile ?? '', { mode: 0o600 })
    const { uid, gid } = statSync(data)
    chownSync(inside, uid, gid)
    const more = ['-C', dirname(data), `${folder}/pg_wal`, '-C', label, `${folder}/backup_label`]
    await tar(['--append', '--numeric-owner', `--file=${file}`, ...more])
  }
  try {
    await withSql(adminUrl, work, patience)
  } finally {
    rmSync(label, { recursive: true, force: true })
  }
}

const anyBackup = /^quicklink(-nightly)?-\d{8}T\d{6}Z\.tar\.gz$/
const nightly = /^quicklink-nightly-\d{8}T\d{6}Z\.tar\.gz$/

/** The newest of them, or the database itself, where there is none yet: unix milliseconds. */
export function lastBackupMs(places: Places, which = anyBackup): number {
  const { data } = databaseOf(places)
  return Math.max(
    statSync(join(data, 'PG_VERSION')).mtimeMs,
    ...backupsIn(places, which).map((file) => statSync(file).mtimeMs),
  )
}

function backupsIn(places: Places, which: RegExp): string[] {
  const folder = join(places.dataDir, 'backups')
  const names = existsSync(folder) ? readdirSync(folder).sort() : []
  return names.filter((name) => which.test(name)).map((name) => join(folder, name))
}

export interface Nights {
  readonly keep: number
  readonly hour: number
}

/** BACKUP_KEEP and BACKUP_HOUR. A number that is none would make a backup a minute. */
export function nightsOf(env: NodeJS.ProcessEnv): Nights {
  const whole = (name: string, fallback: number, most: number): number => {
    const given = env[name] || String(fallback)
    if (/^\d{1,4}$/.test(given) && Number(given) <= most) return Number(given)
    throw new Refusal(`${name} is ${given}, but must be a whole number from 0 to ${most}.`)
  }
  return { keep: whole('BACKUP_KEEP', 7, 1000), hour: whole('BACKUP_HOUR', 3, 23) }
}

/** Once a night. `keep` of these stay. */
export async function nightlyBackup(places: Places, { keep, hour }: Nights, say: Say): Promise<void> {
  const due = new Date()
  if (due.getUTCHours() < hour) due.setUTCDate(due.getUTCDate() - 1)
  due.setUTCHours(hour, 0, 0, 0)
  if (keep === 0 || lastBackupMs(places, nightly) >= due.getTime()) return
  await backup(places, say, 'quicklink-nightly')
  for (const old of backupsIn(places, nightly).slice(0, -keep)) rmSync(old)
}

export async function restore(places: Places, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const file = fileGiven(env)
  if (!file.endsWith('.tar.gz')) {
    throw new Refusal(`FILE must be a .tar.gz that \`make backup\` made without Docker; ${basename(file)} is not.`)
  }
  await alone(places, () => bringBack(places, file, say))
}

async function bringBack(places: Places, file: string, say: Say): Promise<void> {
  // Of an earlier one that was killed.
  putInPlace(places)
  const data = stoppedData(places, 'make restore')
  // Postgres alone may be down: then the keeper is about to start it, on the folder that is to be put aside.
  if (keeperDaemon(places).pid() !== undefined || runningServer(places) !== undefined) {
    throw new Refusal('QuickLink is running: `make down` first, then `make restore`.')
  }
  const unpacked = `${data}.restoring`
  rmSync(unpacked, { recursive: true, force: true })
  mkdirSync(unpacked, { mode: 0o700 })
  await tar(['--extract', '--gzip', '--numeric-owner', '--preserve-permissions', `--file=${file}`, '-C', unpacked])
  if (!existsSync(join(unpacked, 'postgres.json')) || !existsSync(join(unpacked, 'data', 'PG_VERSION'))) {
    throw new Refusal(`FILE is not a backup of QuickLink: ${shown(file)} has no database in it.`)
  }
  // A name that no earlier one has, also of this second.
  const aside = `${data}.before-restore-${new Date().toISOString().replace(/[-:.]/g, '')}`
  beginRestore(places, { data, unpacked, aside })
  await startPostgres(places, 1, () => undefined)
  await stopPostgres(places)
  say(`Restored. The data of before is in ${shown(aside)}; \`make up\` starts QuickLink.`)
}

async function tar(args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('tar', args)
  } catch (error) {
    // A file has changed, or gone, while it was read: the log of Postgres has what it should be.
    if ((error as { code?: number }).code === 1) return
    throw new Refusal(`tar failed: ${(error as { stderr?: string }).stderr ?? String(error)}`)
  }
}
