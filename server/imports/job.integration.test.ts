// Whose import is worked on while another one does not get on.
import { expect, it, onTestFinished } from 'vitest'
import { freshDatabase, migrated, waitFor } from '../../testing/services.ts'
import { openPostgres, type Postgres } from '../connections/postgres.ts'
import { limits } from '../limits.ts'
import { startImporter } from './job.ts'
import { noteTry, ourFault, tookTooLong } from './progress.ts'

const nobody = (): never => {
  throw new Error('nobody was to be asked')
}

/** Of the owner, whose links are not counted, and with codes, so that none is minted. */
async function stage(sql: Postgres, id: string, code: string): Promise<void> {
  await sql.query(
    `insert into imports (id, tenant, format, on_conflict, dry_run, state, rows) values ($1, 'owner', 'quicklink', 'replace', false, 'queued', 1)`,
    [id],
  )
  const row = { place: 0, line: 2, source: [code], code, url: 'https://example.org/imported' }
  await sql.query('insert into import_parts (import_id, n, rows) values ($1, 0, $2)', [id, JSON.stringify([row])])
}

it('an import whose rows somebody holds locked lets the next one pass, and is done when they are free', async () => {
  const url = await freshDatabase()
  const sql = await migrated(url)
  await sql.query(`insert into links (code, url) values ('held', 'https://example.org/')`)
  await stage(sql, 'first', 'held')
  await stage(sql, 'second', 'free')
  let free = (): void => undefined
  const isFree = new Promise<void>((resolve) => (free = resolve))
  const holding = sql.transaction(async (held) => {
    await held.query(`select from links where code = 'held' for update`)
    await isFree
  })
  const open = (): Postgres =>
    openPostgres({ url, name: 'imports', maxConnections: 1, connectMs: 5000, queryMs: 500, onError: () => undefined })
  const importer = startImporter(
    {
      sql,
      open,
      isFresh: () => true,
      onTrouble: (error) => expect.unreachable(String(error)),
      tiers: { unlimited: { createsPerHour: null, links: null, monthlyHits: null, lifeDays: null } } as never,
      quota: { countMany: nobody } as never,
      preparation: { current: nobody, prepare: nobody },
    },
    50,
  )
  onTestFinished(() => {
    free()
    return importer.stop()
  })
  const state = async (id: string): Promise<string> =>
    (await sql.query<{ state: string }>('select state from imports where id = $1', [id]))[0]!.state
  await waitFor(async () => (await state('second')) === 'done', { deadlineMs: 60_000 })
  expect(await state('first')).toBe('queued')
  free()
  await holding
  await waitFor(async () => (await state('first')) === 'done', { deadlineMs: 60_000 })
}, 120_000)

it('a database that is slow and a mistake of ours are counted apart: an import fails for the one that came too often', async () => {
  const sql = await migrated(await freshDatabase())
  await stage(sql, 'often', 'any')
  const now = async () => (await sql.query('select state, failure from imports'))[0]
  for (let n = 1; n < limits.importSlowTries; n++) await noteTry(sql, 'often', tookTooLong)
  for (let n = 1; n < limits.importTries; n++) await noteTry(sql, 'often', ourFault)
  expect(await now()).toEqual({ state: 'queued', failure: null })
  await noteTry(sql, 'often', ourFault)
  expect(await now()).toEqual({ state: 'failed', failure: ourFault.sentence })
})
