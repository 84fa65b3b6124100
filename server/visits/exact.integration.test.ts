// From a visitor's request to an answer about it: two servers, a Redis that is emptied, and a Postgres that refuses in the middle.
import { beforeAll, expect, it } from 'vitest'
import { startTestApp, type TestApp } from '../../testing/app.ts'
import { created } from '../../testing/http.ts'
import {
  freshDatabase,
  freshRedis,
  handInPsql,
  proxied,
  redisCommand,
  waitFor,
  type FaultProxy,
} from '../../testing/services.ts'
import type { StatsShown } from './operations.ts'

const agents = {
  Chrome:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  Firefox: 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
  bot: 'Googlebot/2.1 (+http://www.google.com/bot.html)',
}
const referrers = ['news.example', 'search.example', undefined]
const languages = ['de', 'en']

let apps: TestApp[]
let databaseUrl: string
let redisUrl: string
let postgres: FaultProxy
beforeAll(async () => {
  databaseUrl = await freshDatabase()
  redisUrl = await freshRedis()
  const { proxy, url } = await proxied(databaseUrl)
  postgres = proxy
  const first = await startTestApp({ databaseUrl: url, redisUrl })
  apps = [first, await startTestApp({ databaseUrl: url, redisUrl, key: first.key })]
})

it('counts visits with known values exactly, in total and in every dimension', async () => {
  const [first] = apps as [TestApp, TestApp]
  const codes = Array.from({ length: 10 }, (_, n) => `link-${n}`)
  for (const code of codes) await created(first.api, '/links', { url: 'https://example.org/', code, tags: ['All'] })
  const came = { total: 0, people: 0, chrome: 0, news: 0, direct: 0, german: 0 }
  const visit = async (n: number): Promise<void> => {
    const agent = (['Chrome', 'Firefox', 'bot'] as const)[n % 3]!
    const referrer = referrers[(n % 7) % 3]
    const language = languages[n % 2]!
    const headers: Record<string, string> = {
      'User-Agent': agents[agent],
      'Accept-Language': language,
      ...(referrer ? { Referer: `https://${referrer}/page` } : {}),
    }
    const { status } = await apps[n % 2]!.get(`/${codes[n % codes.length]}`, headers)
    if (status !== 302) return
    came.total++
    if (agent !== 'bot') came.people++
    if (agent === 'Chrome') came.chrome++
    if (referrer === 'news.example') came.news++
    if (referrer === undefined) came.direct++
    if (language === 'de') came.german++
  }
  for (let n = 0; n < 3000; n += 25) {
    if (n === 1000) await redisCommand(redisUrl, 'FLUSHALL')
    if (n === 1500) await postgres.refuse()
    if (n === 2000) await postgres.pass()
    await Promise.all(Array.from({ length: 25 }, (_, i) => visit(n + i)))
  }
  const ask = async (path: string, dimension: string): Promise<StatsShown> =>
    (await first.api('GET', `${path}?dimension=${dimension}`)).body as unknown as StatsShown
  await waitFor(async () => (await ask('/stats', 'browser')).total === came.total, { deadlineMs: 30_000 })
  /** The values of a dimension. All together they are exact; each, where not every visit was looked at, as good as the answer says. */
  const told = async (dimension: string, expected: Record<string, number> = {}): Promise<void> => {
    const { total, people, sampled, top, other, unknown, withheld } = await ask('/tags/all/stats', dimension)
    const margin = sampled ? 0.1 * came.total : 0
    expect(total).toBe(came.total)
    expect(Math.abs(people - came.people)).toBeLessThanOrEqual(margin)
    expect(top.reduce((sum, value) => sum + value.total, other.total + unknown.total + withheld)).toBe(came.total)
    const values = new Map([
      ['unknown', unknown.total],
      ...top.map(({ value, total }): [string, number] => [value, total]),
    ])
    for (const [value, count] of Object.entries(expected)) {
      expect([dimension, value, Math.abs((values.get(value) ?? 0) - count) <= margin]).toEqual([dimension, value, true])
    }
  }
  await told('bot', { person: came.people, bot: came.total - came.people })
  await told('referrer', { 'news.example': came.news, unknown: came.direct })
  await told('language', { de: came.german })
  await told('browser', { 'Chrome 126': came.chrome })
  for (const dimension of ['os', 'device', 'country', 'utm_source', 'target']) await told(dimension)
  let ofLinks = 0
  for (const code of codes) ofLinks += (await ask(`/links/${code}/stats`, 'browser')).total
  expect(ofLinks).toBe(came.total)
  const rows = await handInPsql(databaseUrl).query<{ n: number }>('select sum(clicks)::bigint as n from clicks')
  expect(rows[0]?.n).toBe(came.total)
})
