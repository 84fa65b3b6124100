// Beside a redirect: who scans is noticed, and Postgres may be away.
import { expect, test } from 'vitest'
import { startTestApp } from '../../testing/app.ts'
import { freshDatabase, freshRedis, proxied } from '../../testing/services.ts'

test('absent codes with .svg, .png or + count as tries for absent codes', async () => {
  const env = { NOT_FOUND_PER_MINUTE: '3', TRUST_PROXY: 'loopback' }
  const app = await startTestApp({ databaseUrl: await freshDatabase(), env })
  const scanner = async (path: string): Promise<number> =>
    (await app.get(path, { 'X-Forwarded-For': '192.0.2.7' })).status
  const code = await app.create('https://example.org/')
  for (const path of ['/none1.svg', '/none2.png', '/none3+']) expect(await scanner(path)).toBe(404)
  for (const path of ['/none4.svg', '/none5.png', '/none6+', '/none7']) expect(await scanner(path)).toBe(429)
  expect(await scanner(`/${code}.svg`)).toBe(200)
})

test('while Postgres is away a known link has its QR code, and what nobody can say is 503', async () => {
  const { proxy, url } = await proxied(await freshDatabase())
  const app = await startTestApp({ databaseUrl: url, redisUrl: await freshRedis() })
  const code = await app.create('https://example.org/')
  await app.api('PATCH', '/tenants/owner', { preview: true })
  expect((await app.get(`/${code}+`)).status).toBe(200)
  await proxy.refuse()
  expect((await app.get(`/${code}.svg`)).status).toBe(200)
  for (const path of ['/unknown.svg', '/unknown.png', '/unknown+', `/${code}+`]) {
    const { status, headers } = await app.get(path)
    expect([path, status, headers['retry-after']]).toEqual([path, 503, '1'])
  }
})
