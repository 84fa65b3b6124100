// A create that knows that there is room counts nothing. What it knows is a bound that triggers raise: it must never be too low,
// whoever adds links, and whoever counts meanwhile.
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { search, searches } from '../../testing/search.ts'
import { freshDatabase, migrated, waitFor } from '../../testing/services.ts'
import { countLinks, countTowards, lockTenant, recount } from './quota-store.ts'

let tenants = 0
let tenant: string
const db = await migrated(await freshDatabase())
const begin = async (): Promise<void> => {
  tenant = `t-${++tenants}`
  await db.query("insert into tenants (id, name, tier) values ($1, $1, 'standard')", [tenant])
}
beforeEach(begin)

const add = (n: number, from = 0): Promise<unknown> =>
  db.query(
    `insert into links (code, url, tenant) select $1 || '-' || n, 'https://example.org/', $1
     from generate_series($2::int, $2::int + $3::int - 1) n on conflict (code) do update set deleted_at = null, tenant = $1`,
    [tenant, from, n],
  )
const bound = async (): Promise<number | null> =>
  (await db.query<{ n: number | null }>('select links_at_most as n from tenants where id = $1', [tenant]))[0]!.n
/** As a create and a sync do it. */
const counted = (limit: number | null): Promise<number | undefined> =>
  db.transaction(async (sql) => {
    await lockTenant(sql, tenant, true)
    return recount(sql, tenant, limit)
  })

type Step = { add: number; from: number } | { remove: number } | { give: number } | { count: number | null }
const step = fc.oneof(
  fc.record({ add: fc.integer({ min: 1, max: 5 }), from: fc.nat(10) }),
  fc.record({ remove: fc.nat(10) }),
  fc.record({ give: fc.nat(10) }),
  fc.record({ count: fc.option(fc.nat(10)) }),
)

async function holds(steps: readonly Step[]): Promise<void> {
  await begin()
  for (const each of steps) {
    if ('add' in each) await add(each.add, each.from)
    else if ('remove' in each)
      await db.query('update links set deleted_at = now() where code = $1', [`${tenant}-${each.remove}`])
    else if ('give' in each)
      await db.query("update links set tenant = case tenant when 'owner' then $2 else 'owner' end where code = $1", [
        `${tenant}-${each.give}`,
        tenant,
      ])
    else await counted(each.count)
    const [there, atMost] = [await countLinks(db, tenant), await bound()]
    if (atMost !== null) expect(atMost).toBeGreaterThanOrEqual(there)
    expect(await countTowards(db, tenant, there)).toBe(there)
    if (atMost !== null) expect(await countTowards(db, tenant, atMost + 1)).toBe(atMost)
  }
}

test('a tenant never has more links than its bound, and who is at the limit is counted', searches, () =>
  search('links at most', fc.asyncProperty(fc.array(step, { maxLength: 15 }), holds), 40),
)

test('links are counted where the bound leaves no room, and nowhere else', async () => {
  await add(3)
  expect([await bound(), await counted(5), await bound()]).toEqual([null, 3, 3])
  await add(1, 3)
  expect([await bound(), await counted(5)]).toEqual([4, undefined])
  await db.query('update links set deleted_at = now() where code = $1', [`${tenant}-0`])
  expect([await bound(), await counted(5), await counted(4), await bound()]).toEqual([4, undefined, 3, 3])
})

test.each([null, 10])(
  'who counts waits for links that are being added, by a hand in psql too (bound: %s)',
  async (before) => {
    if (before !== null) await counted(before)
    const added = Promise.withResolvers<undefined>()
    const commit = Promise.withResolvers<undefined>()
    const hand = db.transaction(async (sql) => {
      await sql.query("insert into links (code, url, tenant) values ($1 || '-x', 'https://example.org/', $1)", [tenant])
      added.resolve(undefined)
      await commit.promise
    })
    await added.promise
    let isCounted = false
    const counting = counted(null).finally(() => (isCounted = true))
    try {
      const waiting = (): Promise<unknown[]> => db.query("select from pg_stat_activity where wait_event_type = 'Lock'")
      await waitFor(async () => (await waiting()).length > 0)
      expect(isCounted).toBe(false)
    } finally {
      commit.resolve(undefined)
      await hand
    }
    expect(await counting).toBe(1)
  },
)
