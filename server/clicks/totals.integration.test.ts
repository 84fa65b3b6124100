// A link's total is the sum of its clicks, whoever writes them.
import { beforeAll, expect, test } from 'vitest'
import type { Postgres } from '../connections/postgres.ts'
import { freshDatabase, migrated, waitFor } from '../../testing/services.ts'

let databaseUrl: string
let db: Postgres
beforeAll(async () => {
  databaseUrl = await freshDatabase()
  db = await migrated(databaseUrl)
})

const wrong = (): Promise<unknown[]> =>
  db.query(
    `select * from (select link_id, sum(clicks) from clicks group by 1) as sums
     full join click_totals as total using (link_id) where coalesce(sum, 0) is distinct from total.clicks`,
  )
/** As a worker of any version writes: links in the order of their ids. */
const count = (links: number, hour: string): Promise<unknown> =>
  db.query(
    `insert into clicks select n, $2::timestamptz, 1 + random() * 9 from generate_series(1, $1) as n
     where random() < 0.5 order by n on conflict (link_id, hour) do update set clicks = clicks.clicks + excluded.clicks`,
    [links, hour],
  )

test('a total is the sum of its rows while many write at once, and whatever a hand changes', async () => {
  const hours = ['2030-01-01T00:00Z', '2030-01-01T01:00Z']
  await Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; round < 20; round++) {
        // As the ledger: who loses a deadlock tries again.
        await waitFor(() => count(50, hours[(writer + round) % 2]!).then(() => true))
        if (round % 5 === writer % 5) await db.query('delete from clicks where link_id = $1', [round])
      }
    }),
  )
  await db.query('update clicks set clicks = 1000 where link_id < 10')
  await db.query('update clicks set link_id = link_id + 1000 where link_id > 40')
  expect(await db.query('select from click_totals where clicks > 0')).not.toHaveLength(0)
  expect(await wrong()).toEqual([])
})

test('a database with years of clicks gets its totals while workers of the version before go on counting', async () => {
  await db.query('drop function ql_bury_link, ql_total_clicks, ql_add_clicks cascade')
  await db.query('drop table click_totals, dead_links')
  await db.query('alter table quota_nights drop column night, drop column reached')
  await db.query('drop function ql_quota_ops_are_gone, ql_keep_nothing cascade')
  await db.query('create table quota_ops ()')
  await db.query('alter table tenants drop column quota_generation')
  await db.query('alter table api_keys drop column role')
  await db.query(`delete from ql_migrations where name >= '0004'`)
  await db.query(
    `insert into clicks select link, timestamptz '2027-01-01Z' + make_interval(hours => hour), 3
     from generate_series(1, 100) as link, generate_series(1, 500) as hour`,
  )
  const life = { over: false }
  let statements = 0
  const worker = async (): Promise<void> => {
    while (!life.over) {
      await count(100, '2030-01-01T02:00Z').catch(() => undefined)
      statements++
    }
  }
  const workers = [worker(), worker(), worker()]
  try {
    await waitFor(() => statements > 10)
    await migrated(databaseUrl)
    const before = statements
    await waitFor(() => statements > before + 10)
  } finally {
    life.over = true
  }
  await Promise.all(workers)
  expect(await db.query('select from click_totals')).not.toHaveLength(0)
  expect(await wrong()).toEqual([])
})
