// How often a create waits for Postgres and Redis, one after the other. Each answer of theirs is late by the same time, so the
// time of a create tells how many it has waited for.
import { expect, test } from 'vitest'
import { startTestApp, type ApiAnswer } from '../../testing/app.ts'
import { freshDatabase, freshRedis, proxied, type FaultProxy } from '../../testing/services.ts'

const url = 'https://example.com/'
const lateMs = 60
const proxies: FaultProxy[] = []

async function behindProxy(target: string): Promise<string> {
  const { url, proxy } = await proxied(target)
  proxies.push(proxy)
  return url
}

const databaseUrl = await behindProxy(await freshDatabase())
const redisUrl = await behindProxy(await freshRedis())
const app = await startTestApp({ databaseUrl, redisUrl, env: { REDIS_TIMEOUT_MS: '1000' } })

/** The fewest of some: a machine that is busy makes it more, never less. */
async function waits(ask: (n: number) => Promise<ApiAnswer>, before: () => Promise<unknown>): Promise<number> {
  await ask(-1)
  for (const proxy of proxies) await proxy.delay(lateMs)
  let fewest = Infinity
  for (let n = 0; n < 12; n++) {
    await before()
    const answer = await ask(n)
    expect(answer.text).toContain(url)
    fewest = Math.min(fewest, answer.ms)
  }
  for (const proxy of proxies) await proxy.pass()
  return Math.floor(fewest / lateMs)
}

test("a tenant's create, with Idempotency-Key, gate and quotas, waits for Postgres and Redis four times in all", async () => {
  await app.api('POST', '/tenants', { id: 'acme', name: 'Acme', tier: 'standard' })
  const { body } = await app.api('POST', '/tenants/acme/keys', { name: 'test' })
  const mine = { Authorization: `Bearer ${String(body['key'])}` }
  const count = await waits(
    (n) => app.api('POST', '/links', { url }, { ...mine, 'Idempotency-Key': `key-${n}` }),
    // Its key and its terms are remembered for half a second.
    () => app.api('GET', '/limits', undefined, mine),
  )
  expect(count).toBeLessThanOrEqual(4)
})
