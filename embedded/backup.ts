// `make backup` and `make restore FILE=…` without Docker. The PostgreSQL from npm has no pg_dump, and one of the system may
// be older than the server, which it then refuses: so the data folder is copied, whole, while Postgres is down.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Places, Refusal, type Say, projectDir, readJson, shown, writeJson } from './paths.ts'
import { startPostgres, stopPostgres, stoppedData } from './postgres.ts'
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

export async function backup(places: Places, say: Say): Promise<void> {
  const data = stoppedData(places, 'make backup')
  const file = backupFile(places, 'quicklink', 'tar.gz')
  const unfinished = `${file}.unfinished`
  const names = ['postgres.json', 'owner-key'].filter((name) => existsSync(join(places.dataDir, name)))
  const folders = ['-C', dirname(data), basename(data), '-C', places.dataDir, ...names]
  try {
    // tar leaves the rights of a file that is there.
    writeFileSync(unfinished, '', { mode: 0o600 })
    await tar(['--create', '--gzip', '--numeric-owner', `--file=${unfinished}`, ...folders])
    renameSync(unfinished, file)
  } finally {
    rmSync(unfinished, { force: true })
  }
  say(`Wrote ${shown(file)} (${sizeOf(file)}), with the owner key in it. \`make up\` goes on.`)
  say(`To bring it back: make down; make restore FILE=${shown(file)}; make up`)
}

export async function restore(places: Places, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const file = fileGiven(env)
  if (!file.endsWith('.tar.gz')) {
    throw new Refusal(`FILE must be a .tar.gz that \`make backup\` made without Docker; ${basename(file)} is not.`)
  }
  const data = stoppedData(places, 'make restore')
  const unpacked = `${data}.restoring`
  rmSync(unpacked, { recursive: true, force: true })
  mkdirSync(unpacked, { mode: 0o700 })
  await tar(['--extract', '--gzip', '--numeric-owner', '--preserve-permissions', `--file=${file}`, '-C', unpacked])
  const settings = readJson<object>(join(unpacked, 'postgres.json'))
  if (!settings || !existsSync(join(unpacked, 'data', 'PG_VERSION'))) {
    throw new Refusal(`FILE is not a backup of QuickLink: ${shown(file)} has no database in it.`)
  }
  const aside = `${data}.before-restore-${stamp()}`
  renameSync(data, aside)
  renameSync(join(unpacked, 'data'), data)
  // Its passwords, but the place and the port of here.
  const { home, port } = readJson<{ home: string; port: number }>(places.postgresFile) ?? {}
  writeJson(places.postgresFile, { ...settings, home, port })
  if (existsSync(join(unpacked, 'owner-key'))) renameSync(join(unpacked, 'owner-key'), places.ownerKeyFile)
  rmSync(unpacked, { recursive: true, force: true })
  await beginNewEpoch(places)
  say(`Restored. The data of before is in ${shown(aside)}; \`make up\` starts QuickLink.`)
}

/** A folder put back is the database of then, bit by bit: only a new epoch tells caches and codes that time went back. */
async function beginNewEpoch(places: Places): Promise<void> {
  const { url } = await startPostgres(places, 1, () => undefined)
  try {
    await withSql(url, (sql) => sql.query('update ql_meta set epoch = gen_random_uuid()'))
  } finally {
    await stopPostgres(places)
  }
}

async function tar(args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)('tar', args)
  } catch (error) {
    throw new Refusal(`tar failed: ${(error as { stderr?: string }).stderr ?? String(error)}`)
  }
}
