// `make backup` and `make restore FILE=…`.
//
// Docker: pg_dump and pg_restore of the database's own image. QuickLink serves while a dump is made, and while one is
// loaded; it is away for the seconds of the swap.
// Embedded: the PostgreSQL from npm has no pg_dump, and one of the system may be older than the server, which it then
// refuses. So the data folder is copied, whole, while Postgres is down.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { openPostgres } from '../server/connections/postgres.ts'
import { type Places, Refusal, type Say, projectDir, readJson, shown } from '../embedded/paths.ts'
import { stoppedData, withPostgres } from '../embedded/postgres.ts'
import { composed, inService } from './compose.ts'
import { ownerKey } from './docker.ts'

const stamp = (): string => new Date().toISOString().replace(/[-:]|\.\d+/g, '')

function backupFile(places: Places, prefix: string, extension: string): string {
  const folder = join(places.dataDir, 'backups')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return join(folder, `${prefix}-${stamp()}.${extension}`)
}

function fileGiven(env: NodeJS.ProcessEnv): string {
  const given = env['FILE']
  if (!given) throw new Refusal('FILE is missing: say which backup, e.g. make restore FILE=.quicklink/backups/….')
  const file = resolve(projectDir, given)
  if (!existsSync(file)) throw new Refusal(`FILE names ${given}, which is not there.`)
  return file
}

const sizeOf = (file: string): string => `${(statSync(file).size / 1024).toFixed(0)} kB`

export async function dockerBackup(places: Places, say: Say): Promise<void> {
  const file = backupFile(places, 'quicklink', 'dump')
  await dumpTo(file)
  say(`Wrote ${shown(file)} (${sizeOf(file)})`)
  say(`It holds everything but the owner key (\`make owner-key\`). To bring it back: make restore FILE=${shown(file)}`)
}

async function dumpTo(file: string): Promise<void> {
  const unfinished = `${file}.unfinished`
  try {
    await inService('postgres', ['pg_dump', '--username=postgres', '--format=custom', 'quicklink'], { outputFile: unfinished })
    renameSync(unfinished, file)
  } finally {
    rmSync(unfinished, { force: true })
  }
}

export async function dockerRestore(places: Places, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const file = fileGiven(env)
  const script = readFileSync(join(projectDir, 'docker', 'restore.sh'), 'utf8')
  const step = (name: string, inputFile?: string): Promise<string> =>
    inService('postgres', ['sh', '-c', script, 'restore', name], inputFile ? { inputFile } : {})
  await composed(['up', '-d', '--wait', 'postgres'])
  say(`Loading ${shown(file)} beside what is there`)
  await step('load', file)
  // It writes what it still holds into the database that it belongs to.
  say('Stopping QuickLink for the swap')
  await composed(['stop', 'quicklink', 'backup'])
  const before = backupFile(places, 'before-restore', 'dump')
  await dumpTo(before)
  await step('swap')
  say('Starting QuickLink')
  await composed(['up', '-d', '--wait', '--no-recreate'])
  say(`Restored. The links of before are in ${shown(before)}`)
  await sayIfKeyIsAnother(env, say)
}

async function sayIfKeyIsAnother(env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const key = await ownerKey().catch(() => '')
  const answer = await fetch(`http://127.0.0.1:${env['PORT'] || '8080'}/api/v1/limits`, {
    headers: { authorization: `Bearer ${key}` },
  }).catch(() => undefined)
  if (answer?.status !== 401) return
  say('This database has another owner key than `make owner-key` prints: use that one, or make a new one with `make new-owner-key`.')
}

/** The old one stops working, wherever it is. */
export async function newOwnerKey(say: Say): Promise<void> {
  const sql = "delete from api_keys where id = 'owner'"
  await inService('postgres', ['psql', '--username=postgres', '--dbname=quicklink', '--quiet', `--command=${sql}`])
  await composed(['restart', 'quicklink'])
  await composed(['up', '-d', '--wait', '--no-recreate', 'quicklink'])
  say('The owner key is a new one: `make owner-key` prints it.')
}

export async function embeddedBackup(places: Places, say: Say): Promise<void> {
  const data = stoppedData(places, 'backup')
  const file = backupFile(places, 'quicklink', 'tar.gz')
  const unfinished = `${file}.unfinished`
  const names = ['postgres.json', 'owner-key'].filter((name) => existsSync(join(places.dataDir, name)))
  // Permissions and numeric owners are Postgres' business, too.
  await tar(['--create', '--gzip', '--numeric-owner', `--file=${unfinished}`, '-C', dirname(data), basename(data), '-C', places.dataDir, ...names])
  renameSync(unfinished, file)
  say(`Wrote ${shown(file)} (${sizeOf(file)}), the owner key included`)
  say(`\`make up\` goes on. To bring this back: make down; make restore FILE=${shown(file)}; make up`)
}

export async function embeddedRestore(places: Places, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const file = fileGiven(env)
  if (!file.endsWith('.tar.gz')) throw new Refusal(`FILE must be a .tar.gz of \`make backup\` in this mode; ${basename(file)} is not.`)
  const data = stoppedData(places, 'restore')
  const unpacked = `${data}.restoring`
  rmSync(unpacked, { recursive: true, force: true })
  mkdirSync(unpacked, { mode: 0o700 })
  await tar(['--extract', '--gzip', '--numeric-owner', '--same-owner', '--preserve-permissions', `--file=${file}`, '-C', unpacked])
  const aside = `${data}.before-restore-${stamp()}`
  renameSync(data, aside)
  renameSync(join(unpacked, basename(data)), data)
  // Its passwords, and the key that it knows; where Postgres lives stays as it is here.
  const kept = readJson<{ home: string; port: number }>(places.postgresFile)
  adopt(places, unpacked, kept)
  rmSync(unpacked, { recursive: true, force: true })
  // A folder put back is byte for byte the database of then: only a new epoch tells caches and codes that time went back.
  await withPostgres(places, async (url) => {
    const db = openPostgres({ url, name: 'quicklink-restore', maxConnections: 1, connectMs: 5000, queryMs: 10_000, onError: () => undefined }) // prettier-ignore
    try {
      await db.query('update ql_meta set epoch = gen_random_uuid()')
    } finally {
      await db.close()
    }
  })
  say(`Restored. The data of before is in ${shown(aside)}; \`make up\` starts QuickLink.`)
}

function adopt(places: Places, from: string, kept: { home?: string; port?: number } | undefined): void {
  const settings = readJson<Record<string, unknown>>(join(from, 'postgres.json'))
  if (settings) writeSettings(places, { ...settings, ...kept && { home: kept.home, port: kept.port } })
  const key = join(from, 'owner-key')
  if (existsSync(key)) renameSync(key, places.ownerKeyFile)
}

const tar = async (args: readonly string[]): Promise<void> => {
  try {
    await promisify(execFile)('tar', args)
  } catch (error) {
    throw new Refusal(`tar failed: ${(error as { stderr?: string }).stderr ?? String(error)}`)
  }
}
