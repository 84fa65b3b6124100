// An export is of one moment, holds little, and takes nothing from others; and what becomes of it when one side of it dies.
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { startTestApp } from '../../testing/app.ts'
import { newTenant } from '../../testing/http.ts'
import { freshDatabase, handInPsql, proxied, waitFor } from '../../testing/services.ts'
import { createExportTurns } from '../api/export-turns.ts'
import { loadConfig } from '../config.ts'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

const links = 3000
const databaseUrl = await freshDatabase()
const through = await proxied(databaseUrl)
const proxy = through.proxy
const app = await startTestApp({ databaseUrl: through.url })
const hand = handInPsql(databaseUrl)
await hand.query(
  `insert into links (code, url) select 'big-' || n, 'https://example.org/' || repeat('x', 5000) from generate_series(1, ${links}) n`,
)

/** Asks for all, and reads nothing until it is told to; then to the end. */
async function begin(key = app.key) {
  const { hostname, port } = new URL(app.url)
  const socket = connect({ host: hostname, port: Number(port) }).pause()
  sockets.push(socket)
  let text = ''
  const ended = new Promise<void>((resolve) => socket.on('close', resolve).on('error', () => undefined))
  socket.write(
    `GET /api/v1/links/export?format=ndjson HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  )
  // Its reader takes nothing, so the cursor waits in the middle.
  await waitFor(async () => {
    const before = await cursors()
    await pause(50)
    const after = await cursors()
    return after.length === sockets.length && JSON.stringify(before) === JSON.stringify(after)
  })
  return {
    socket,
    async read(): Promise<string> {
      socket.setEncoding('latin1').on('data', (part: string) => (text += part)).resume() // prettier-ignore
      await ended
      return text
    },
  }
}

const cursors = (): Promise<{ since: string }[]> =>
  hand.query(
    `select pid, state_change::text as since from pg_stat_activity
     where datname = current_database() and application_name = 'quicklink-export' and query like 'fetch%' order by pid`,
  )
const whole = /\r\n0\r\n\r\n$/

describe('an export', () => {
  it('keeps no rows of the step before', async () => {
    const turns = createExportTurns(loadConfig({ DATABASE_URL: databaseUrl }))
    const rows = turns<{ n: number }>('nobody', () => ({ text: 'select n from generate_series(1, 3) as n', values: [], step: 2 })) // prettier-ignore
    const seen: (readonly { n: number }[])[] = []
    for await (const some of rows) {
      expect(some.map(({ n }) => n)).toEqual(seen.length === 0 ? [1, 2] : [3])
      seen.push(some)
    }
    expect(seen).toEqual([[], []])
  })

  it('is of the moment when it began, however slowly it is read, and waits for its reader', async () => {
    const slow = await begin()
    await hand.query(`update links set url = 'https://example.org/changed'`)
    await hand.query(`insert into links (code, url) values ('later', 'https://example.org/')`)
    const text = await slow.read()
    expect(text).toMatch(whole)
    expect(text.match(/"code":"big-/g)).toHaveLength(links)
    expect(text).not.toMatch(/changed|later/)
    await hand.query(`update links set url = 'https://example.org/' || repeat('x', 5000)`)
  })

  it('is given to a tenant once at a time, and to few at once; the others hear when to ask again', async () => {
    const first = await begin()
    const second = await app.api('GET', '/links/export')
    expect(second.body).toMatchObject({ status: 429, code: 'rate_limited' })
    expect(Number(second.headers['retry-after'])).toBeGreaterThan(0)
    const [acme, other] = [await newTenant(app, 'acme'), await newTenant(app, 'other')]
    await hand.query(`update links set tenant = 'acme' where id % 2 = 0`)
    const theirs = await begin(acme.key)
    const none = await other.api('GET', '/links/export')
    expect(none.body).toMatchObject({ status: 503, code: 'unavailable' })
    expect(Number(none.headers['retry-after'])).toBeGreaterThan(0)
    // The API has its own connections.
    expect((await app.api('GET', '/links?limit=1')).status).toBe(200)
    first.socket.destroy()
    await waitFor(async () => (await other.api('GET', '/links/export')).status === 200)
    theirs.socket.destroy()
    await waitFor(async () => (await cursors()).length === 0)
  })

  it('whose client leaves is over', async () => {
    const { socket } = await begin()
    socket.destroy()
    await waitFor(async () => (await cursors()).length === 0)
    await waitFor(async () => (await app.api('GET', '/links/export?tag=none')).status === 200)
  })

  it('that Postgres breaks off has no end, and one that cannot begin is 503', async () => {
    const cut = await begin()
    await proxy.refuse()
    const text = await cut.read()
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
    expect(text).not.toMatch(whole)
    const none = await app.api('GET', '/links/export')
    expect(none.body).toMatchObject({ status: 503, code: 'unavailable' })
    await proxy.pass()
    await waitFor(async () => (await app.api('GET', '/links/export')).status === 200)
  })
})
