// How many links a tag has: what is written down beside it is what a count would say, and nobody waits for it.
import { expect, test } from 'vitest'
import { startTestApp } from '../../testing/app.ts'
import { times } from '../../testing/http.ts'
import { freshDatabase, handInPsql } from '../../testing/services.ts'
import type { Sql } from '../connections/postgres.ts'
import { listTags, type TagShown } from './tags.ts'
import { countTags } from './upkeep.ts'

const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl })
const db = handInPsql(databaseUrl)
const listed = async (): Promise<unknown> => (await app.api('GET', '/tags')).body['items']
const counted = (): Promise<TagShown[]> =>
  db.query(
    `select name as tag, (select count(*) from link_tags where tag_id = tags.id) as links from tags where tenant = 'owner' order by key`,
  )
const url = 'https://example.org/'
const create = (code: string, ...tags: string[]) => app.api('POST', '/links', { url, code, tags })
const moreBy = (sql: Sql, n: number) =>
  sql.query(
    `insert into link_tags (tag_id, link_id, created_at) select id, 1000000 + $1, now() from tags where key = 'hot'`,
    [n],
  )

test('is what there is, whatever was done at once, before it is added up, meanwhile, and after that', async () => {
  const tags = ['hot', 'old', 'x', 'y']
  const doing = times(40, async () => {
    const code = `c${String(Math.random()).slice(2)}`
    await create(code, ...tags.filter(() => Math.random() < 0.6), 'hot')
    const change = { tags: tags.filter(() => Math.random() < 0.5) }
    await (Math.random() < 0.3 ? app.api('DELETE', `/links/${code}`) : app.api('PATCH', `/links/${code}`, change))
  })
  const adding = times(3, () => countTags(db))
  await Promise.all([doing, adding])
  expect(await listed()).toEqual(await counted())
  expect((await app.api('PATCH', '/tags/old', { name: 'x' })).body).toEqual(
    (await counted()).find(({ tag }) => tag === 'x'),
  )
  await db.query(`update link_tags set tag_id = (select id from tags where key = 'y')
    where tag_id = (select id from tags where key = 'hot') and link_id not in
      (select link_id from link_tags join tags on tags.id = tag_id where key = 'y')`)
  expect(await listed()).toEqual(await counted())
  await countTags(db)
  expect(await db.query('select from tag_changes')).toEqual([])
  expect(await listed()).toEqual(await counted())
})

test('who tags a link waits neither for others with the same tag nor for the sum, and a list waits for none of them', async () => {
  await create('first', 'hot')
  const before = await counted()
  await db.transaction(async (sql) => {
    await moreBy(sql, 1)
    expect((await create('beside', 'hot')).status).toBe(201)
    await countTags(db)
    // The sum that has not ended holds the row of the tag.
    await sql.query(`update tags set links = links where key = 'hot'`)
    expect((await create('beside-the-sum', 'hot')).status).toBe(201)
    const hot = before.find(({ tag }) => tag === 'hot')?.links ?? NaN
    expect(await listed()).toContainEqual({ tag: 'hot', links: hot + 2 })
  })
  expect(await listed()).toEqual(await counted())
})

test('a list of tags reads no tagging, however many there are', async () => {
  await db.transaction(async (sql) => {
    await sql.query('lock table link_tags in access exclusive mode')
    expect((await listTags(db, { tenant: 'owner', limit: 100, after: '' })).items.length).toBeGreaterThan(0)
  })
})

test('is 0 when all links are truncated by hand', async () => {
  await create('last', 'hot')
  await db.query('truncate links')
  expect(await listed()).toEqual(await counted())
  await create('anew', 'hot')
  expect(await listed()).toContainEqual({ tag: 'hot', links: 1 })
})
