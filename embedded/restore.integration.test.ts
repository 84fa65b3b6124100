import { execFile } from 'node:child_process'
import { existsSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, inject, test } from 'vitest'
import { backup } from './backup.ts'
import { type Places, placesIn, projectDir, readText } from './paths.ts'
import { startPostgres, stopPostgres } from './postgres.ts'
import { withSql } from './sql.ts'

let places: Places
let file: string
let runs = 0
const silent = (): void => undefined
const ask = <T extends object>(url: string, text: string): Promise<T[]> => withSql(url, (sql) => sql.query<T>(text))
const backups = (): string => join(places.dataDir, 'backups')
const withDatabase = { timeout: 60_000 }

/** A database, a backup of it, and what came later. */
beforeEach(async () => {
  places = placesIn(join(inject('services').runDir, `restore-${++runs}`))
  const { url } = await startPostgres(places, 1, silent)
  await ask(url, "create table ql_meta as select 'old' as what, gen_random_uuid() as epoch")
  await backup(places, silent)
  file = join(backups(), readdirSync(backups())[0] ?? '')
  await ask(url, "update ql_meta set what = 'new'")
  await stopPostgres(places)
})
afterEach(() => stopPostgres(places))

/** `killed`: it is, right after it has given a file or folder a name that ends so. */
async function restore(killed?: string): Promise<string | undefined> {
  const hook = `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const rename = fs.renameSync
    fs.renameSync = (from, to) => {
      rename(from, to)
      if (new RegExp(${JSON.stringify(killed)}).test(to)) process.kill(process.pid, 'SIGKILL')
    }
    syncBuiltinESMExports()`
  const args = killed === undefined ? [] : ['--import', `data:text/javascript,${encodeURIComponent(hook)}`]
  const env = { PATH: process.env['PATH'], DATA_DIR: places.dataDir, MODE: 'embedded', FILE: file }
  return promisify(execFile)(process.execPath, [...args, join(projectDir, 'appliance', 'cli.ts'), 'restore'], { env })
    .then(() => undefined)
    .catch((error: unknown) => {
      const { signal, stderr } = error as { signal: string | null; stderr: string }
      return signal ?? stderr
    })
}

async function isRestored(): Promise<void> {
  const { url } = await startPostgres(places, 1, silent)
  const [row] = await ask<{ what: string; epoch: string }>(url, 'select * from ql_meta')
  expect(row?.what).toBe('old')
  const folder = places.postgresDir
  const aside = readdirSync(folder).filter((name) => name.startsWith('data.before-restore-'))
  expect(aside).toHaveLength(1)
  expect(existsSync(join(folder, 'data.restoring'))).toBe(false)
  await stopPostgres(places)
  // Time went back, and is said to have: the folder of before has the epoch that the backup has, too.
  renameSync(places.postgresDir + '/data', `${places.postgresDir}/restored`)
  renameSync(join(folder, aside[0] ?? ''), join(folder, 'data'))
  const before = await startPostgres(places, 1, silent)
  const [old] = await ask<{ what: string; epoch: string }>(before.url, 'select * from ql_meta')
  expect(old?.what).toBe('new')
  expect(old?.epoch).not.toBe(row?.epoch)
}

test.each([
  ['the data of before was put aside', 'before-restore-[^/]*$'],
  ['the data of the backup was put in its place', '/data$'],
  ['its passwords were taken over', 'postgres[.]json$'],
])('a restore that was killed when %s is finished by the next start', withDatabase, async (_, killed) => {
  expect(await restore(killed)).toBe('SIGKILL')
  await isRestored()
})

test('a restore that was killed is finished by another restore', withDatabase, async () => {
  expect(await restore('before-restore-[^/]*$')).toBe('SIGKILL')
  expect(await restore()).toBeUndefined()
  expect(readText(places.restoringFile)).toBeUndefined()
  const { url } = await startPostgres(places, 1, silent)
  expect(await ask(url, 'select what from ql_meta')).toEqual([{ what: 'old' }])
})
