// A link's total is the sum of its clicks, whoever writes them.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Postgres } from '../connections/postgres.ts'
import { emptyDatabase, freshDatabase, handInPsql, migrated, waitFor } from '../../testing/services.ts'

let databaseUrl: string = await freshDatabase()
let db: Postgres = await migrated(databaseUrl)

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

/** As the version of then has left it. */
async function migrateBefore(name: string): Promise<void> {
  const folder = new URL('../migrations/', import.meta.url)
  await db.query(
    'create table ql_migrations (id serial primary key, name varchar(255) not null, run_on timestamp not null)',
  )
  for (const file of readdirSync(folder)
    .sort()
    .filter((each) => each < name)) {
    await db.query(readFileSync(new URL(file, folder), 'utf8'))
    await db.query('insert into ql_migrations (name, run_on) values ($1, now())', [file.replace('.sql', '')])
  }
}

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
  databaseUrl = await emptyDatabase()
  db = handInPsql(databaseUrl, { maxConnections: 8 })
  await migrateBefore('0004')
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
