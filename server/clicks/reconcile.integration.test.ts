// Promise 8 on a whole server: thousands of redirects, Postgres away for a while, one worker killed.
// QL_CLICKS_REDIRECTS=50000 shows the full count.
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { withSql } from '../../embedded/sql.ts'
import { limits } from '../limits.ts'
import { send } from '../../testing/app.ts'
import { flood } from '../../testing/load.ts'
import { startServer } from '../../testing/server-process.ts'
import { freshDatabase, freshRedis, proxied, waitFor } from '../../testing/services.ts'

const redirects = Number(process.env['QL_CLICKS_REDIRECTS'] ?? 6000)
const perSecond = redirects > 10_000 ? 2500 : 1000
const workers = 3

it('clicks reconcile after an outage of Postgres and the death of a worker, but for its last flush interval', async () => {
  const databaseUrl = await freshDatabase()
  const { proxy, url } = await proxied(databaseUrl)
  const server = await startServer({
    DATABASE_URL: url,
    REDIS_URL: await freshRedis(),
    WORKERS: String(workers),
  })
  const { body } = await server.api('POST', '/links', { url: 'https://example.org/' })
  const code = String(body['code'])
  const [victim] = await server.workerPids()

  let events: Promise<unknown> | undefined
  let sentAtDeath = 0
  const found = await flood(server.url, `/${code}`, {
    requests: redirects,
    perSecond,
    during(sent) {
      if (sent === Math.floor(redirects / 6)) events = proxy.refuse()
      if (sent === Math.floor(redirects / 2)) {
        sentAtDeath = sent
        process.kill(victim!, 'SIGKILL')
      }
      if (sent === Math.floor((redirects * 5) / 6)) events = proxy.pass()
    },
  })
  await events
  expect(sentAtDeath).toBeGreaterThan(0)
  const served = found.statuses[302] ?? 0
  expect(served + found.failures).toBe(redirects)

  interface Books {
    accepted: number
    persisted: number
    spooled: number
    dropped: number
  }
  const books = async (): Promise<Books> =>
    (JSON.parse((await send(server.opsUrl, 'GET', '/statusz')).text) as { clicks: Books }).clicks
  const settled = async (): Promise<Books> => {
    const before = await books()
    await pause(1500)
    const after = await books()
    const { accepted, persisted, spooled, dropped } = after
    if (spooled > 0 || before.accepted !== accepted || accepted !== persisted + dropped)
      throw new Error(JSON.stringify(after))
    return after
  }
  const { accepted, persisted, dropped } = await waitFor(settled, { deadlineMs: 40_000, everyMs: 200 })
  expect([accepted, dropped]).toEqual([persisted, 0])

  const total = 'select sum(clicks)::bigint as n from clicks'
  const [row] = await withSql(databaseUrl, (sql) => sql.query<{ n: number }>(total))
  expect(row?.n).toBe(persisted)
  // One worker's share of a flush interval; twice that, because nothing shares connections out evenly.
  const interval = (perSecond * limits.clicksEveryMs) / 1000
  expect(served - accepted).toBeGreaterThanOrEqual(0)
  expect(served - accepted).toBeLessThanOrEqual((2 * interval) / workers)
  expect(await server.metric('quicklink_clicks_accepted_total')).toBe(accepted)
  expect(await server.metric('quicklink_clicks_persisted_total')).toBe(persisted)
})
