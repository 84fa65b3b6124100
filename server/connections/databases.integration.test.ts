// Each kind of work has its own connections: while all of one kind wait, the others go on.
import { expect, test } from 'vitest'
import { startTestApp } from '../../testing/app.ts'
import { freshDatabase, handInPsql, waitFor } from '../../testing/services.ts'

const databaseUrl = await freshDatabase()
// A statement that waits for a lock waits until the lock is gone. What is told of visits reads the tenants, which are locked below.
const app = await startTestApp({ databaseUrl, env: { VISITS: 'off' } })
const hand = handInPsql(databaseUrl)

/** Holds a lock until it is told to let go. */
async function hold(statement: string): Promise<() => Promise<void>> {
  const [held, letGo] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const over = hand.transaction(async (sql) => {
    await sql.query(statement)
    held.resolve(undefined)
    await letGo.promise
  })
  await held.promise
  return async () => {
    letGo.resolve(undefined)
    await over
  }
}

/** So many statements of this pool wait for a lock: it has no connection left. */
const waiting = (pool: string, statements: number): Promise<unknown> =>
  waitFor(async () => {
    const [row] = await hand.query<{ n: number }>(
      `select count(*) as n from pg_stat_activity
       where datname = current_database() and application_name = $1 and wait_event_type = 'Lock'`,
      [`quicklink-${pool}`],
    )
    return row?.n === statements
  })

test('clicks reach Postgres while every connection of the API waits', async () => {
  await app.create('https://example.org/', { code: 'held' })
  await app.create('https://example.org/', { code: 'clicked' })
  const letGo = await hold(`select 1 from links where code = 'held' for update`)
  const changes = Array.from({ length: 4 }, () => app.api('PATCH', '/links/held', { enabled: true }))
  await waiting('api', 4)
  const before = await app.metric('quicklink_clicks_persisted_total')
  for (let n = 0; n < 3; n++) expect((await app.get('/clicked')).status).toBe(302)
  await waitFor(async () => (await app.metric('quicklink_clicks_persisted_total')) === before + 3)
  await letGo()
  expect((await Promise.all(changes)).map(({ status }) => status)).toEqual(Array(4).fill(200))
})

test('the API answers, and clicks reach Postgres, while every connection of the limits waits', async () => {
  const letGo = await hold('lock table tenants in access exclusive mode')
  const asked = Array.from({ length: 8 }, () => app.api('GET', '/limits'))
  // One look-up serves all who ask for one tenant; the sync of quotas is another.
  const synced = app.api('POST', '/quota/sync')
  await waiting('limits', 2)
  const before = await app.metric('quicklink_clicks_persisted_total')
  const answers = await Promise.all(Array.from({ length: 8 }, () => app.api('GET', '/links/clicked')))
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
  expect((await app.get('/clicked')).status).toBe(302)
  await waitFor(async () => (await app.metric('quicklink_clicks_persisted_total')) === before + 1)
  await letGo()
  expect((await Promise.all([...asked, synced])).map(({ status }) => status)).toEqual(Array(9).fill(200))
})

test('whoever reads the limits waits with the API, and takes no connection from those who decide', async () => {
  const letGo = await hold('lock table links in access exclusive mode')
  const asked = Array.from({ length: 8 }, () => app.api('GET', '/limits'))
  await waiting('api', 4)
  await waiting('limits', 0)
  await letGo()
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array(8).fill(200))
})

test('a statement that nobody waits for and that fails is the failure of its transaction, of which nothing stays', async () => {
  const half = hand.transaction(async (sql) => {
    void sql.query(`insert into tenants (id, name, tier) values ('half', 'Half', 'plus')`)
    void sql.query('select 1 / 0')
    return Promise.resolve('done')
  })
  await expect(half).rejects.toThrow('division by zero')
  expect(await hand.query(`select id from tenants where id = 'half'`)).toEqual([])
})
