import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { backup, nightlyBackup, nightsOf, refuseWithoutRoom, restore } from './backup.ts'
import { placesIn, projectDir, type Places, writeJson } from './paths.ts'
import { programName } from './process.ts'

let places: Places
const silent = (): void => undefined
const backups = (): string[] => readdirSync(join(places.dataDir, 'backups')).sort()

/** A database, and a backup of each of these days ago. */
beforeEach(() => {
  places = placesIn(mkdtempSync(join(tmpdir(), 'quicklink-backup-')))
  mkdirSync(join(places.postgresDir, 'data'), { recursive: true })
  mkdirSync(join(places.dataDir, 'backups'))
  writeFileSync(places.postgresFile, '{}')
  old(join(places.postgresDir, 'data', 'PG_VERSION'), 9)
  for (const days of [3, 2, 1])
    old(join(places.dataDir, 'backups', `quicklink-nightly-20200101T00000${9 - days}Z.tar.gz`), days)
})
afterEach(() => rmSync(places.dataDir, { recursive: true }))

function old(file: string, days: number): void {
  writeFileSync(file, '')
  const then = Date.now() / 1000 - days * 86_400
  utimesSync(file, then, then)
}

test('one backup is made a night, the oldest go, and what was made by hand or is no backup stays', async () => {
  const others = ['by-hand.tar.gz', 'quicklink-20190101_before_the_move.tar.gz', 'quicklink-20190101T000000Z.tar.gz']
  for (const name of others) writeFileSync(join(places.dataDir, 'backups', name), '')
  const hour = new Date().getUTCHours()
  await nightlyBackup(places, { keep: 2, hour }, silent)
  const after = backups()
  expect(after.filter((name) => name.startsWith('quicklink-nightly-2020'))).toEqual([
    'quicklink-nightly-20200101T000008Z.tar.gz',
  ])
  expect(after).toEqual(expect.arrayContaining(others))
  expect(after).toHaveLength(5)
  await nightlyBackup(places, { keep: 2, hour }, silent)
  expect(backups()).toEqual(after)
})

test('none is made where none is to be kept, and of a database that was made since', async () => {
  await nightlyBackup(places, { keep: 0, hour: 0 }, silent)
  writeFileSync(join(places.postgresDir, 'data', 'PG_VERSION'), '')
  await nightlyBackup(places, { keep: 7, hour: new Date().getUTCHours() }, silent)
  expect(backups()).toHaveLength(3)
})

test('what is no number of backups, and no hour, is refused with a sentence; empty is the usual', () => {
  expect(nightsOf({ BACKUP_KEEP: '', BACKUP_HOUR: '03' })).toEqual({ keep: 7, hour: 3 })
  expect(() => nightsOf({ BACKUP_HOUR: 'abc' })).toThrow('BACKUP_HOUR is abc, but must be a whole number from 0 to 23.')
  expect(() => nightsOf({ BACKUP_KEEP: '-1' })).toThrow('BACKUP_KEEP is -1, but must be a whole number from 0 to 1000.')
})

test('what somebody who was killed has left unfinished goes with the next backup, and what is being made stays', async () => {
  const folder = join(places.dataDir, 'backups')
  const made = `quicklink-20260101T000000Z.tar.gz.${process.pid}.${programName}.unfinished.tar`
  const left = ['quicklink-20260101T000000Z.tar.gz.unfinished.tar', made.replace(programName, 'nobody.ts')]
  for (const name of [made, ...left]) writeFileSync(join(folder, name), '')
  mkdirSync(join(folder, `${left[1]}.label`))
  await backup(places, silent)
  expect(backups().filter((name) => name.includes('unfinished'))).toEqual([made])
})

test('a backup has room for the copy and the same compressed, or is refused', () => {
  const megabyte = 1024 * 1024
  expect(() => refuseWithoutRoom('backups', 10 * megabyte, 20 * megabyte)).not.toThrow()
  const why = 'A backup needs 20 MB while it is made, and backups has 19 MB: make room.'
  expect(() => refuseWithoutRoom('backups', 10 * megabyte, 19 * megabyte)).toThrow(why)
})

test('nothing is restored under a keeper, which would start Postgres meanwhile', async () => {
  const program = join(projectDir, 'embedded', 'keeper-run.ts')
  const keeper = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => 0, 1000)', program])
  try {
    await once(keeper.stdout, 'data')
    writeJson(places.keeperFile, { pid: keeper.pid })
    const FILE = join(places.dataDir, 'backups', backups()[0] ?? '')
    await expect(restore(places, { FILE }, silent)).rejects.toThrow('QuickLink is running: `make down` first')
  } finally {
    keeper.kill('SIGKILL')
  }
})
