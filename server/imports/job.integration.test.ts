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
async function stage(sql: Postgres, id: string, ...codes: readonly string[]): Promise<void> {
  await sql.query(
    `insert into imports (id, tenant, format, on_conflict, dry_run, state, rows) values ($1, 'owner', 'quicklink', 'replace', false, 'queued', $2)`,
    [id, codes.length],
  )
  const rows = codes.map((code, place) => ({
    place,
    line: 2 + place,
    source: [code],
    code,
    url: 'https://example.org/',
  }))
  await sql.query('insert into import_parts (import_id, n, rows) values ($1, 0, $2)', [id, JSON.stringify(rows)])
}

/** Until the test has ended. */
function work(sql: Postgres, url: string, queryMs: number): void {
  const importer = startImporter(
    {
      sql,
      open: () =>
        openPostgres({ url, name: 'imports', maxConnections: 1, connectMs: 5000, queryMs, onError: () => undefined }),
      isFresh: () => true,
      onTrouble: (error) => expect.unreachable(String(error)),
      tiers: { unlimited: { createsPerHour: null, links: null, monthlyHits: null, lifeDays: null } } as never,
      quota: { countMany: nobody } as never,
      preparation: { current: nobody, prepare: nobody },
    },
    50,
  )
  onTestFinished(() => importer.stop())
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
  onTestFinished(() => free())
  work(sql, url, 500)
  const state = async (id: string): Promise<string> =>
    (await sql.query<{ state: string }>('select state from imports where id = $1', [id]))[0]!.state
  await waitFor(async () => (await state('second')) === 'done', { deadlineMs: 60_000 })
  expect(await state('first')).toBe('queued')
  free()
  await holding
  await waitFor(async () => (await state('first')) === 'done', { deadlineMs: 60_000 })
})

it('a code that somebody else makes while its part is worked on is refused by the next try, and the others are made', async () => {
  const url = await freshDatabase()
  const sql = await migrated(url)
  await sql.query(`insert into tenants (id, name, tier) values ('other', 'Other', 'unlimited')`)
  await stage(sql, 'racing', 'first', 'raced', 'last')
  await sql.transaction(async (other) => {
    await other.query(`insert into links (code, url, tenant) values ('raced', 'https://example.org/theirs', 'other')`)
    work(sql, url, 20_000)
    // What has looked and seen nobody waits for who was faster.
    await waitFor(async () => {
      const waiting = await sql.query(`select from pg_stat_activity where application_name = 'imports' and wait_event_type = 'Lock'`)
      return waiting.length > 0
    }, { deadlineMs: 60_000 }) // prettier-ignore
  })
  const read = async () => (await sql.query('select state, created, refused from imports'))[0]
  await waitFor(async () => (await read())?.['state'] === 'done', { deadlineMs: 60_000 })
  expect(await read()).toEqual({ state: 'done', created: 2, refused: 1 })
  expect(await sql.query('select code, tenant from links order by code')).toEqual([
    { code: 'first', tenant: 'owner' },
    { code: 'last', tenant: 'owner' },
    { code: 'raced', tenant: 'other' },
  ])
})

it('while a part is worked on nobody makes a link of its tenant, so what is made over is what was locked', async () => {
  const url = await freshDatabase()
  const sql = await migrated(url)
  const options = { url, connectMs: 5000, queryMs: 180_000, maxConnections: 1, onError: () => undefined }
  const other = openPostgres({ ...options, name: 'other' })
  onTestFinished(() => other.close())
  await sql.query(`insert into links (code, url) values ('there', 'https://example.org/old')`)
  await stage(sql, 'racing', 'there', 'coming')
  const isWaiting = (name: string) => async (): Promise<boolean> =>
    (await sql.query(`select from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`, [name]))
      .length > 0
  const { making } = await other.transaction(async (held) => {
    await held.query(`select from links where code = 'there' for update`)
    work(sql, url, 180_000)
    // It has read what is there, and comes to lock it.
    await waitFor(isWaiting('imports'), { deadlineMs: 60_000 })
    const third = openPostgres({ ...options, name: 'third' })
    onTestFinished(() => third.close())
    const making = third
      .query(`insert into links (code, url) values ('another', 'https://example.org/')`)
      .then(() => 'made', String)
    await waitFor(isWaiting('third'), { deadlineMs: 60_000 })
    return { making }
  })
  const done = async () => (await sql.query('select created, replaced from imports where state = $1', ['done']))[0]
  await waitFor(async () => (await done()) !== undefined, { deadlineMs: 60_000 })
  expect(await done()).toEqual({ created: 1, replaced: 1 })
  expect(await making).toBe('made')
}, 240_000)

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
