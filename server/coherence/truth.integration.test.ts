// What a pass asks Postgres: every change once, at a cost that depends on the changes and not on what lies before them.
import { afterAll, expect, it } from 'vitest'
import { limits } from '../limits.ts'
import { openSql } from '../../embedded/sql.ts'
import type { Sql } from '../connections/postgres.ts'
import { freshDatabase, migrated } from '../../testing/services.ts'
import { compareSnapshots, type Cursor } from './cursor.ts'
import { createTruth } from './truth.ts'

let asked: { text: string; values: readonly unknown[] }

const url = await freshDatabase()
const hand = await migrated(url)
const passes = openSql(url, { maxConnections: 1, onlyIndexes: true })
const spy: Sql = {
  query: (text, values = [], name) => {
    asked = { text, values }
    return passes.query(text, values, name)
  },
}
const truth = createTruth(spy, spy)
afterAll(() => passes.close())

const start = async (): Promise<Cursor> => (await truth.changesSince(null)).next

/** All that a Redis with this cursor is told, until there is no more; and where its cursor stands then. */
async function follow(from: Cursor): Promise<{ told: string[]; cursor: Cursor }> {
  const told: string[] = []
  for (let cursor = from; ;) {
    const { next, changes, forget } = await truth.changesSince(cursor)
    told.push(...changes.map(({ code }) => code), ...forget)
    if (next.to === undefined && cursor.to === undefined) return { told, cursor: next }
    cursor = next
  }
}

const insert = (sql: Sql, codes: readonly string[]): Promise<unknown> =>
  sql.query(`insert into links (code, url) select code, 'https://example.org/' from unnest($1::text[]) code`, [codes])

const names = (word: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${word}-${n}`)

/** A transaction that stays open after its insert, until it is told how to end. */
function leaveOpen(codes: readonly string[]) {
  const ending = Promise.withResolvers<'commit' | 'rollback'>()
  const written = Promise.withResolvers<undefined>()
  const ended = hand
    .transaction(async (sql) => {
      await insert(sql, codes)
      written.resolve(undefined)
      if ((await ending.promise) === 'rollback') throw new Error('rolled back')
    })
    .catch(() => undefined)
  const end = async (how: 'commit' | 'rollback'): Promise<void> => {
    ending.resolve(how)
    await ended
  }
  return { written: written.promise, end }
}

it('every change is told exactly once, in whatever order transactions begin and end', async () => {
  let cursor = await start()
  const told: string[] = []
  const step = async (): Promise<void> => {
    const news = await follow(cursor)
    told.push(...news.told)
    cursor = news.cursor
  }
  const [first, second, never] = [['first'], ['second'], ['never']].map(leaveOpen) as [
    ReturnType<typeof leaveOpen>,
    ReturnType<typeof leaveOpen>,
    ReturnType<typeof leaveOpen>,
  ]
  await Promise.all([first.written, second.written, never.written])
  await insert(hand, ['at-once'])
  await step()
  expect(told).toEqual(['at-once'])
  await second.end('commit')
  await insert(hand, ['after-second'])
  await step()
  await never.end('rollback')
  await step()
  await first.end('commit')
  await step()
  await step()
  expect(told).toEqual(['at-once', 'second', 'after-second', 'first'])
})

it('snapshots are in the order in which they were taken, by what stands in them', async () => {
  const open: ReturnType<typeof leaveOpen>[] = []
  const taken: string[] = []
  for (let n = 0; n < 30; n++) {
    if (n % 3 !== 2) open.push(leaveOpen([`ordered-${n}`]))
    await Promise.all(open.map(({ written }) => written))
    taken.push((await start()).snapshot)
    // Neither the oldest nor the newest first.
    if (n % 4 !== 0) await open.splice((n * 7) % open.length, 1)[0]?.end(n % 2 === 0 ? 'commit' : 'rollback')
    taken.push((await start()).snapshot)
  }
  for (const { end } of open) await end('commit')
  expect(new Set(taken).size).toBeGreaterThan(15)
  taken.forEach((one, i) => {
    for (const later of taken.slice(i)) expect(Math.sign(compareSnapshots(one, later))).toBe(one === later ? 0 : -1)
  })
})

it('a list too long for one step is told completely and once, however it was committed meanwhile', async () => {
  const half = (limits.passBulk + limits.passChunk) / 2
  const [long, longer] = [names('long', half), names('longer', half)]
  const later = names('later', limits.passBulk)
  const cursor = await start()
  const [early, big] = [leaveOpen(['early']), leaveOpen(later)]
  await Promise.all([early.written, big.written])
  // The transaction that began first writes last: in the outbox, its rows come before and have the higher ids.
  await hand.transaction(async (sql) => {
    await sql.query('select pg_current_xact_id()')
    await insert(hand, long)
    await insert(sql, longer)
  })
  const { next, forget } = await truth.changesSince(cursor)
  expect(forget).toHaveLength(limits.passBulk)
  // Both come before what has just been told, in the order of the outbox.
  await Promise.all([early.end('commit'), big.end('commit')])
  await insert(hand, ['last'])
  const rest = await follow(next)
  expect([...forget, ...rest.told].sort()).toEqual([...long, ...longer, ...later, 'early', 'last'].sort())
})

it('a link that was changed many times is one look-up, as it is now, and the list still ends where it ends', async () => {
  await insert(hand, ['hot', 'cold'])
  const cursor = await start()
  // More changes than a pass takes at a time.
  for (let n = 0; n < limits.passBulk + 7; n++) {
    await hand.query('update links set url = $1 where code = $2', [`https://example.org/${n}`, 'hot'])
  }
  await hand.query(`update links set enabled = false where code = 'cold'`)
  const first = await truth.changesSince(cursor)
  expect(first.forget).toEqual([])
  expect(first.changes.map(({ code }) => code)).toEqual(['hot'])
  expect(first.changes[0]?.known).toMatchObject({ url: `https://example.org/${limits.passBulk + 6}` })
  expect(first.next.to).toBeDefined()
  expect((await follow(first.next)).told.sort()).toEqual(['cold', 'hot'])
})

it('a pass reads a handful of pages, however long the outbox, and whatever transaction was left open before it', async () => {
  const open = leaveOpen(['open'])
  await open.written
  const beginning = await start()
  for (let n = 0; n < 20; n++) await insert(hand, names(`row${n}`, 2500))
  const end = await start()
  const pages = async (cursor: Cursor): Promise<number> => {
    await truth.changesSince(cursor)
    const explained = await passes.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      `explain (analyze, buffers, format json) ${asked.text}`,
      asked.values,
    )
    const plan = explained[0]?.['QUERY PLAN'][0].Plan
    return (plan?.['Shared Hit Blocks'] ?? NaN) + (plan?.['Shared Read Blocks'] ?? NaN)
  }
  const ofChunk = await pages(beginning)
  let cursor = beginning
  for (let n = 0; n < 15; n++) cursor = (await truth.changesSince(cursor)).next
  expect(await pages(end)).toBeLessThan(40)
  expect(await pages(cursor)).toBeLessThan(ofChunk + 40)
  await open.end('commit')
  expect((await follow(end)).told).toEqual(['open'])
})
