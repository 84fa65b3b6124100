// Over HTTP: who scans is told 429, and existing links redirect all the same.
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { send, startTestApp } from '../../testing/app.ts'
import { startServer } from '../../testing/server-process.ts'
import { freshDatabase } from '../../testing/services.ts'

const env = { NOT_FOUND_PER_MINUTE: '4', SCAN_ALLOWLIST: '192.0.2.99', TRUST_PROXY: '1' }
const app = await startTestApp({ databaseUrl: await freshDatabase(), env })

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

  for (const path of ['/absent1', `/${off}`, '/no/code', '/absent1']) expect((await scanner(path)).status).toBe(404)
  for (const path of ['/absent1', '/absent2', `/${off}`]) {
    const { status, headers, text } = await scanner(path)
    expect([status, JSON.parse(text)]).toMatchObject([429, { code: 'rate_limited', status: 429 }])
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
  }
  expect((await scanner(`/${link}`)).status).toBe(302)
  // What browsers and crawlers ask for by themselves is nobody's try.
  for (const path of ['/', '/favicon.ico', '/robots.txt']) expect((await scanner(path)).status).toBe(200)
  expect((await neighbour('/absent1')).status).toBe(404)
  for (let n = 0; n < 8; n++) expect((await friend('/absent1')).status).toBe(404)
  expect(await app.metric('quicklink_rate_limited_total', { tier: 'address' })).toBe(3)
})

test('two workers are one server: an address gets its 404s once, and one that forwards unasked is counted and said', async () => {
  const env = { NOT_FOUND_PER_MINUTE: '30', SCAN_ALLOWLIST: '192.0.2.99', WORKERS: '2' }
  const server = await startServer({ DATABASE_URL: await freshDatabase(), ...env })
  const leftMs = 60_000 - (Date.now() % 60_000)
  if (leftMs < 10_000) await pause(leftMs)
  // Each over a connection of its own, which the kernel gives to either worker.
  const statuses: number[] = []
  while (statuses.length < 400) {
    const { status } = await send(server.url, 'GET', '/absent1', undefined, { 'X-Forwarded-For': '203.0.113.9' })
    statuses.push(status)
  }
  const allowed = statuses.filter((status) => status === 404).length
  expect(new Set(statuses)).toEqual(new Set([404, 429]))
  expect(allowed).toBeGreaterThanOrEqual(30)
  expect(allowed).toBeLessThanOrEqual(30 + 10 + 5)
  const { text } = await send(server.opsUrl, 'GET', '/metrics')
  expect(text).toContain('quicklink_forwarded_unheeded_total{peer="private"} 400')
  const said = server.output().match(/X-Forwarded-For comes from an address that TRUST_PROXY does not name/g)
  expect(said?.length).toBeLessThanOrEqual(2)
})
