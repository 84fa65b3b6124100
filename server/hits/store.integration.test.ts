// What Postgres grants, on a real one, at a time of the test's choosing.
import { beforeEach, describe, expect, it } from 'vitest'
import { freshDatabase, migrated } from '../../testing/services.ts'
import { grantHits, readHits, returnHits } from './store.ts'

const db = await migrated(await freshDatabase())

let linkId: number
const grant = (step: 'advance' | 'bundle' = 'advance', seen: number | null = null) => grantHits(db, linkId, step, seen)
const timeIs = (time: string) =>
  db.query(`create or replace function ql_now() returns timestamptz language sql volatile as $$ select ${time} $$`)

async function link(monthlyHits: number | null): Promise<number> {
  const [row] = await db.query<{ id: number }>(
    `insert into links (code, url, monthly_hits) values (gen_random_uuid(), 'https://example.com/', $1) returning id`,
    [monthlyHits],
  )
  return row!.id
}

beforeEach(async () => {
  await timeIs('clock_timestamp()')
  linkId = await link(1000)
})

describe('a grant', () => {
  it('is a tenth of the limit as an advance, a 32nd of that as a bundle, and in sum never more than the limit', async () => {
    expect(await grant()).toMatchObject({ units: 100, granted: 100, limit: 1000 })
    expect(await grant('bundle')).toMatchObject({ units: 3, granted: 103 })
    let last = await grant()
    for (let n = 0; n < 20; n++) last = await grant()
    expect(last).toMatchObject({ units: 0, granted: 1000 })
    linkId = await link(3)
    const units = []
    for (let n = 0; n < 5; n++) units.push((await grant()).units)
    expect(units).toEqual([1, 1, 1, 0, 0])
    linkId = await link(1_000_000)
    expect([(await grant()).units, (await grant('bundle')).units]).toEqual([1000, 31])
  })

  it('to many at once is never more than the limit', async () => {
    const grants = await Promise.all(Array.from({ length: 40 }, () => grant()))
    expect(grants.reduce((sum, { units }) => sum + units, 0)).toBe(1000)
  })

  it('is refused to those who have not seen the one before', async () => {
    expect(await grant('advance', 0)).toMatchObject({ units: 100 })
    expect(await grant('advance', 0)).toMatchObject({ units: 0, granted: 100 })
    expect(await grant('advance', 100)).toMatchObject({ units: 100, granted: 200 })
  })

  it('is by the limit as it is now, whatever the asker believes', async () => {
    await grant()
    await db.query('update links set monthly_hits = 50 where id = $1', [linkId])
    expect(await grant()).toMatchObject({ units: 0, granted: 100, limit: 50 })
    await db.query('update links set monthly_hits = 120 where id = $1', [linkId])
    expect(await grant()).toMatchObject({ units: 12, granted: 112 })
    await db.query('update links set monthly_hits = null where id = $1', [linkId])
    expect(await grant()).toMatchObject({ units: 0, limit: null })
    expect(await grant()).toMatchObject({ exists: true })
    await db.query('update links set deleted_at = now() where id = $1', [linkId])
    expect(await grant()).toMatchObject({ units: 0, exists: false })
  })

  it('belongs to the month of the database, which ends in UTC', async () => {
    await timeIs("timestamptz '2028-02-29 23:59:59.5+00'")
    await db.query("set timezone = 'Asia/Tokyo'")
    const leap = await grant()
    expect(leap.month).toEqual({ name: '2028-02', endsMs: Date.UTC(2028, 2, 1) })
    expect(leap.atMs).toBe(Date.UTC(2028, 1, 29, 23, 59, 59, 500))
    await timeIs("timestamptz '2028-03-01 00:00:00+00'")
    expect(await grant()).toMatchObject({ units: 100, granted: 100, month: { name: '2028-03' } })
    await timeIs("timestamptz '2027-12-31 23:59:59+00'")
    expect((await grant()).month).toEqual({ name: '2027-12', endsMs: Date.UTC(2028, 0, 1) })
  })

  it('counts what the link served in this month before it had a limit', async () => {
    await timeIs("timestamptz '2028-02-10 12:00+00'")
    await db.query("insert into clicks values ($1, '2028-02-01 00:00+00', 900), ($1, '2028-01-31 23:00+00', 5000)", [
      linkId,
    ])
    expect(await grant()).toMatchObject({ units: 100, granted: 1000 })
    expect(await grant()).toMatchObject({ units: 0 })
    expect(await readHits(db, linkId)).toMatchObject({ month: '2028-02', used: 900, granted: 1000 })
  })

  it('comes back, and never more than there was', async () => {
    const { month } = await grant()
    await returnHits(db, linkId, month.name, 40)
    expect(await readHits(db, linkId)).toMatchObject({ granted: 60 })
    await returnHits(db, linkId, month.name, 61)
    expect(await readHits(db, linkId)).toMatchObject({ granted: 60 })
  })
})
