import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nightlyBackup, nightsOf } from './backup.ts'
import { placesIn, type Places } from './paths.ts'

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
    old(join(places.dataDir, 'backups', `quicklink-20200101T00000${9 - days}Z.tar.gz`), days)
})
afterEach(() => rmSync(places.dataDir, { recursive: true }))

function old(file: string, days: number): void {
  writeFileSync(file, '')
  const then = Date.now() / 1000 - days * 86_400
  utimesSync(file, then, then)
}

test('one backup is made a night, the oldest go, and what is not a backup stays', async () => {
  writeFileSync(join(places.dataDir, 'backups', 'by-hand.tar.gz'), '')
  const hour = new Date().getUTCHours()
  await nightlyBackup(places, { keep: 2, hour }, silent)
  const after = backups()
  expect(after.filter((name) => name.startsWith('quicklink-2020'))).toEqual(['quicklink-20200101T000008Z.tar.gz'])
  expect(after).toHaveLength(3)
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
