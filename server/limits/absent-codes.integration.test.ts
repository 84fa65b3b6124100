// Over HTTP: who scans is told 429, and existing links redirect all the same.
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../testing/app.ts'
import { freshDatabase } from '../testing/services.ts'

let app: TestApp
beforeAll(async () => {
  const env = { NOT_FOUND_PER_MINUTE: '4', SCAN_ALLOWLIST: '192.0.2.99', TRUST_PROXY: '1' }
  app = await startTestApp({ databaseUrl: await freshDatabase(), env })
})

const from = (address: string) => (path: string) => app.get(path, { 'X-Forwarded-For': `198.51.100.1, ${address}` })

test('after NOT_FOUND_PER_MINUTE 404s an address is told 429 for absent codes, disabled ones included, and for no link', async () => {
  const [link, off] = [
    await app.create('https://example.com/'),
    await app.create('https://example.com/', { enabled: false }),
  ]
  const [scanner, neighbour, friend] = ['192.0.2.7', '192.0.2.8', '192.0.2.99'].map(from) as [ReturnType<typeof from>, ReturnType<typeof from>, ReturnType<typeof from>] // prettier-ignore
  // Not across the end of a minute.
  const leftMs = 60_000 - (Date.now() % 60_000)
  if (leftMs < 3000) await pause(leftMs)

  for (const path of ['/absent1', `/${off}`, '/favicon.ico', '/absent1']) expect((await scanner(path)).status).toBe(404)
  for (const path of ['/absent1', '/absent2', `/${off}`]) {
    const { status, headers, text } = await scanner(path)
    expect([status, JSON.parse(text)]).toMatchObject([429, { code: 'rate_limited', status: 429 }])
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
  }
  expect((await scanner(`/${link}`)).status).toBe(302)
  expect((await neighbour('/absent1')).status).toBe(404)
  for (let n = 0; n < 8; n++) expect((await friend('/absent1')).status).toBe(404)
  expect(await app.metric('quicklink_rate_limited_total', { tier: 'address' })).toBe(3)
})
