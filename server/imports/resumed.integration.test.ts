// An import whose worker is killed, whose Postgres is away, and which two workers could take: each row is done once.
import { expect, it } from 'vitest'
import { startServer, type ServerProcess } from '../../testing/server-process.ts'
import { freshDatabase, freshRedis, handInPsql, proxied, waitFor } from '../../testing/services.ts'
import type { Postgres } from '../connections/postgres.ts'

const rows = 12_000
const tagged = (n: number): string => (n % 3 === 0 ? 'a|b' : '')
const file = `code,url,title,tags,clicks\n${Array.from({ length: rows }, (_, n) => `kept-${n},https://example.org/${n},Title ${n},${tagged(n)},${n}\n`).join('')}`

interface State {
  readonly id: string
  readonly state: string
  readonly created: number
}

async function begin(server: ServerProcess): Promise<() => Promise<State>> {
  const { status, body } = await server.api('POST', '/imports', file, { 'Content-Type': 'text/csv' })
  expect(status).toBe(202)
  return async () => (await server.api('GET', `/imports/${String(body['id'])}`)).body as unknown as State
}

/** Each link once, with one version that was drawn and announced, its details and its tags. */
async function isWhole(sql: Postgres): Promise<void> {
  const [found] = await sql.query(
    `select (select count(*) from links) as links, (select count(*) from outbox) as announced, (select count(*) from link_details) as details,
       (select count(*) from link_tags) as tags, (select sum(clicks_before) from link_details)::bigint as clicks,
       (select count(*) from import_parts) as parts`,
  )
  const tags = 2 * Math.ceil(rows / 3)
  expect(found).toEqual({
    links: rows,
    announced: rows,
    details: rows,
    tags,
    clicks: (rows * (rows - 1)) / 2,
    parts: 0,
  })
}

const isUnder = async (state: () => Promise<State>, from: number): Promise<boolean> => {
  const { created } = await state()
  return created >= from && created < rows
}

it('killed in the middle, again and again, it makes each link once', async () => {
  const databaseUrl = await freshDatabase()
  const server = await startServer({
    DATABASE_URL: databaseUrl,
    REDIS_URL: await freshRedis(),
  })
  const state = await begin(server)
  for (const least of [1, 3000, 6000]) {
    await waitFor(() => isUnder(state, least), { deadlineMs: 60_000 })
    const [pid] = await server.workerPids()
    process.kill(pid!, 'SIGKILL')
    await waitFor(async () => (await server.workerPids()).some((other) => other !== pid), { deadlineMs: 60_000 })
    await waitFor(async () => (await server.ready()).status === 200, { deadlineMs: 60_000 })
  }
  await waitFor(async () => (await state()).state === 'done', { deadlineMs: 120_000 })
  expect(await state()).toMatchObject({ created: rows, replaced: 0, skipped: 0, refused: 0, failure: null })
  await isWhole(handInPsql(databaseUrl))
}, 300_000)

it('with two workers, and Postgres refused in the middle, it waits and goes on', async () => {
  const databaseUrl = await freshDatabase()
  const { proxy, url } = await proxied(databaseUrl)
  const server = await startServer({ DATABASE_URL: url, WORKERS: '2' })
  const state = await begin(server)
  await waitFor(() => isUnder(state, 1), { deadlineMs: 60_000 })
  await proxy.refuse()
  await waitFor(async () => (await server.api('GET', '/imports')).status === 503, { deadlineMs: 60_000 })
  await proxy.pass()
  await waitFor(async () => (await state().catch(() => undefined))?.state === 'done', { deadlineMs: 120_000 })
  expect(await state()).toMatchObject({ created: rows, refused: 0, failure: null })
  await isWhole(handInPsql(databaseUrl))
}, 300_000)
