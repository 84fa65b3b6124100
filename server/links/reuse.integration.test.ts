// Several who would rather have the link that is there, at the same moment.
import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type ApiAnswer, type TestApp } from '../../testing/app.ts'
import { newTenant } from '../../testing/http.ts'
import { freshDatabase, handInPsql, waitFor } from '../../testing/services.ts'

const many = 8
let app: TestApp
let databaseUrl: string
beforeAll(async () => {
  databaseUrl = await freshDatabase()
  app = await startTestApp({ databaseUrl })
})

const atOnce = (ask: (n: number) => Promise<ApiAnswer>): Promise<ApiAnswer[]> =>
  Promise.all(Array.from({ length: many }, (_, n) => ask(n)))
const linksTo = async (url: string): Promise<number> => {
  const { body } = await app.api('GET', `/links?url=${encodeURIComponent(url)}`)
  return (body['items'] as object[]).length
}

it('of simultaneous creates with onExisting=return one makes the link, and the others are answered with it', async () => {
  const url = 'https://example.org/wanted-by-many'
  const answers = await atOnce(() => app.api('POST', '/links?onExisting=return', { url }))
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array<number>(many - 1).fill(200), 201])
  expect(new Set(answers.map(({ body }) => body['code'])).size).toBe(1)
  expect(await linksTo(url)).toBe(1)
})

it('the same where each wants many, of the same URLs in opposite orders', async () => {
  const urls = Array.from({ length: 20 }, (_, n) => `https://example.org/wanted-with-others/${n}`)
  const [acme, other] = [urls, urls.toReversed()].map((order) => ({ links: order.map((url) => ({ url })) }))
  const answers = await Promise.all([
    app.api('POST', '/links/bulk?onExisting=return', acme),
    app.api('POST', '/links/bulk?onExisting=return', other),
    ...urls.map((url) => app.api('POST', '/links?onExisting=return', { url })),
  ])
  expect(answers.filter(({ status }) => status > 201)).toEqual([])
  for (const url of urls) expect(await linksTo(url)).toBe(1)
})

it('what a request for many finds only in the transaction that would make it takes nothing of the hour, and is no failure', async () => {
  const acme = await newTenant(app, 'acme')
  const hand = handInPsql(databaseUrl)
  const links = ['a', 'b', 'c'].map((page) => ({ url: `https://example.org/raced/${page}` }))
  const { asked } = await hand.transaction(async (sql) => {
    // While this is held, whoever would rather have a link that is there waits; others do not.
    await sql.query(`select pg_advisory_xact_lock(7105014, hashtext('acme') # n) from generate_series(0, 31) as n`)
    const asked = acme.api('POST', '/links/bulk?onExisting=return', { links })
    const isWaiting = `select from pg_locks where locktype = 'advisory' and classid = 7105014 and not granted`
    await waitFor(async () => (await hand.query(isWaiting)).length > 0, { deadlineMs: 60_000 })
    for (const link of links.slice(1)) expect((await acme.api('POST', '/links', link)).status).toBe(201)
    return { asked }
  })
  const results = (await asked).body['results'] as { status: number }[]
  expect(results.map(({ status }) => status)).toEqual([201, 200, 200])
  expect((await acme.api('GET', '/limits')).body).toMatchObject({ creates: { used: 3 }, failedCreates: { used: 0 } })
})
