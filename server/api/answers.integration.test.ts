// Answers of the API that nobody reads: they are bounded, a tenant's before everybody's, and others are served beside them.
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { withSql } from '../../embedded/sql.ts'
import { send, startTestApp } from '../../testing/app.ts'
import { newTenant, type Api } from '../../testing/http.ts'
import { startServer } from '../../testing/server-process.ts'
import { freshDatabase, waitFor } from '../../testing/services.ts'

const clients: Socket[] = []
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy()
})

/** Asks, and never reads. */
function deaf(url: string, requests: string): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(requests)
  clients.push(socket)
  return socket
}

const megabytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** 100 links with long destinations: a page of them has 800 kB. */
async function fill(databaseUrl: string, tenant: string): Promise<void> {
  const insert = `insert into links (code, url, tenant)
    select 'big-' || n, 'https://example.org/' || repeat('x', 8000), $1 from generate_series(1, 100) n`
  await withSql(databaseUrl, (sql) => sql.query(insert, [tenant]))
}

describe('answers that nobody reads', () => {
  it('of one tenant do not kill the server, nor keep others from being served', async () => {
    const databaseUrl = await freshDatabase()
    const server = await startServer({
      DATABASE_URL: databaseUrl,
      NODE_OPTIONS: '--max-old-space-size=96',
      LOG_LEVEL: 'error',
    })
    const [greedy, honest] = [await newTenant(server, 'greedy'), await newTenant(server, 'honest')]
    await fill(databaseUrl, 'greedy')
    const link = await server.api('POST', '/links', { url: 'https://example.org/', code: 'visited' })
    expect(link.status).toBe(201)
    // Known keys are let in at once, however many requests come together.
    for (const { api } of [greedy, honest]) expect((await api('GET', '/limits')).status).toBe(200)
    const [pid = 0] = await server.workerPids()
    const beforeMb = megabytes(pid)

    const page = `GET /api/v1/links?limit=100 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${greedy.key}\r\n\r\n`
    const attack = (): void => {
      for (let n = 0; n < 6; n++) deaf(server.url, page.repeat(500))
    }
    attack()
    const attacking = setInterval(attack, 500)
    let mostMb = 0
    const seen: number[] = []
    const untilMs = performance.now() + 8000
    while (performance.now() < untilMs) {
      const visit = await send(server.url, 'GET', '/visited')
      const call = await honest.api('GET', '/limits')
      seen.push(visit.status, call.status)
      mostMb = Math.max(mostMb, megabytes(pid))
    }
    clearInterval(attacking)
    expect(new Set(seen)).toEqual(new Set([302, 200]))
    expect(seen.length).toBeGreaterThan(2)
    expect(mostMb - beforeMb).toBeLessThan(250)
    expect(await server.workerPids()).toEqual([pid])
  })

  it('have a share of the room per tenant, and whoever takes nothing is let go when it is used up', async () => {
    const databaseUrl = await freshDatabase()
    const app = await startTestApp({ databaseUrl })
    const [greedy, honest] = [await newTenant(app, 'greedy'), await newTenant(app, 'honest')]
    await fill(databaseUrl, 'greedy')
    const ask = ({ api }: { api: Api }, path: string) => api('GET', path)
    const page = `GET /api/v1/links?limit=100 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${greedy.key}\r\n\r\n`
    const [refused] = await waitFor(
      async () => {
        // The kernel takes some of each answer; what is left of one per connection is the tenant's room in the end.
        for (let n = 0; n < 5; n++) deaf(app.url, page.repeat(20))
        const answer = await ask(greedy, '/links?limit=100')
        return answer.status === 503 && answer.text.includes('answers are under way') ? [answer] : undefined
      },
      { deadlineMs: 30_000 },
    )
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(JSON.parse(refused.text)).toMatchObject({ status: 503, code: 'unavailable' })
    expect(await app.metric('quicklink_shed_total', { reason: 'api_queue' })).toBeGreaterThan(0)
    expect((await ask(honest, '/links?limit=100')).status).toBe(200)
    expect((await app.api('GET', '/links?limit=100')).status).toBe(200)
    // Sooner than after the 65 s that an idle connection is kept.
    await waitFor(async () => (await ask(greedy, '/links?limit=100')).status === 200, { deadlineMs: 30_000 })
  })
})

describe('the absolute form of a request', () => {
  it('reaches links, the API and what is not there', async () => {
    const app = await startTestApp({ databaseUrl: await freshDatabase() })
    const code = await app.create('https://example.org/')
    const key = { Authorization: `Bearer ${app.key}` }
    expect((await app.get(`http://other.example/${code}`)).status).toBe(302)
    expect((await app.get(`https://other.example:99/${code}?x=1`)).headers.location).toBe('https://example.org/')
    expect((await app.get('http://other.example/api/v1/limits', key)).status).toBe(200)
    expect((await app.get('http://other.example/api/v1/limits')).status).toBe(401)
    expect((await app.get('http://other.example/none')).status).toBe(404)
    expect((await app.get(`http://user@other.example/${code}`)).status).toBe(404)
  })
})
