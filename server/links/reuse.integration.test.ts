// Several who would rather have the link that is there, at the same moment.
import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type ApiAnswer, type TestApp } from '../../testing/app.ts'
import { freshDatabase } from '../../testing/services.ts'

const many = 8
let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ databaseUrl: await freshDatabase() })
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
