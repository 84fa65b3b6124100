// `make backup` and `make restore FILE=…` with Docker: pg_dump and pg_restore of the database's own image. QuickLink serves
// while a dump is made, and while one is loaded; it is away for the seconds of the swap.
import { readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { backupFile, fileGiven, sizeOf } from '../embedded/backup.ts'
import { type Places, type Say, projectDir, shown } from '../embedded/paths.ts'
import { composed, inService } from './compose.ts'

export async function backup(places: Places, say: Say): Promise<void> {
  const file = backupFile(places, 'quicklink', 'dump')
  await dumpTo(file)
  say(`Wrote ${shown(file)} (${sizeOf(file)})`)
  say(`It holds everything but the owner key (\`make owner-key\`). To bring it back: make restore FILE=${shown(file)}`)
}

async function dumpTo(file: string): Promise<void> {
  const unfinished = `${file}.unfinished`
  try {
    await composed(['run', '--rm', '--no-deps', '--no-TTY', 'backup', 'now'], { outputFile: unfinished })
    renameSync(unfinished, file)
  } finally {
    rmSync(unfinished, { force: true })
  }
}

export async function restore(places: Places, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const file = fileGiven(env)
  const script = readFileSync(join(projectDir, 'docker', 'restore.sh'), 'utf8')
  const step = (name: string, inputFile?: string): Promise<string> =>
    inService('postgres', ['sh', '-c', script, 'restore', name], inputFile ? { inputFile } : {})
  // Postgres first, and then who owns what is loaded.
  await composed(['run', '--rm', '--no-TTY', 'roles'])
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
  await sayIfKeyIsAnother(say)
}

/** Asked inside, where the key is. */
const askWithKey = `
  const key = (await import('node:fs')).readFileSync('/data/owner-key', 'utf8').trim()
  const answer = await fetch('http://127.0.0.1:8080/api/v1/limits', { headers: { authorization: 'Bearer ' + key } })
  console.log(answer.status)`

async function sayIfKeyIsAnother(say: Say): Promise<void> {
  const status = await inService('quicklink', ['node', '--input-type=module', '-e', askWithKey]).catch(() => '')
  if (status.trim() !== '401') return
  say(
    'This database has another owner key than `make owner-key` prints: use that one, or make a new one with `make new-owner-key`.',
  )
}

/** The old one stops working, wherever it is. */
export async function newOwnerKey(say: Say): Promise<void> {
  const sql = "delete from api_keys where id = 'owner'"
  await inService('postgres', ['psql', '--username=postgres', '--dbname=quicklink', '--quiet', `--command=${sql}`])
  await composed(['restart', 'quicklink'])
  await composed(['up', '-d', '--wait', '--no-recreate', 'quicklink'])
  say('The owner key is a new one: `make owner-key` prints it.')
}
