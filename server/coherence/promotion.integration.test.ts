// A real standby takes the place of its primary, under a running server: docs/decisions/0052-failover.md.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { limits } from '../limits.ts'
import { isLost, parseCursor } from './cursor.ts'
import { startServer } from '../../testing/server-process.ts'
import {
  handInPsql,
  redisCommand,
  startPostgresServer,
  startRedisServer,
  startStandbyOf,
  superuserOf,
  waitFor,
  type LocalServer,
} from '../../testing/services.ts'

const before = 'https://example.org/before'
const superuserIn = (server: LocalServer) =>
  handInPsql(Object.assign(new URL(superuserOf(server)), { pathname: '/quicklink' }).href)

/** A primary, a standby that is read, and a server whose primary can be exchanged. */
async function beforeFailover() {
  const lost = await startPostgresServer()
  const heir = await startStandbyOf(lost)
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-test-url-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'url')
  const moveTo = ({ url }: LocalServer): void => writeFileSync(file, url)
  moveTo(lost)
  const { url: redisUrl } = await startRedisServer()
  const own = { DATABASE_URL_FILE: file, DATABASE_READ_URL: heir.url, REDIS_URL: redisUrl }
  const server = await startServer({ ...own, DB_TIMEOUT_MS: '500' })
  const lead = async (code: string): Promise<string | null> => {
    const { status, headers } = await fetch(`${server.url}/${code}`, { redirect: 'manual' })
    expect(status).toBe(302)
    return headers.get('location')
  }
  return { lost, heir, server, redisUrl, lead, moveTo }
}

/** From here on its standbys receive nothing. */
async function cutOff(primary: LocalServer, ...standbys: LocalServer[]): Promise<void> {
  const rights = join(primary.dir, 'data', 'pg_hba.conf')
  const refused = 'local replication all reject\nhost replication all all reject\n'
  writeFileSync(rights, `${refused}${readFileSync(rights, 'utf8')}`)
  const master = handInPsql(superuserOf(primary))
  await master.query('select pg_reload_conf()')
  const isCut = async (): Promise<boolean> => {
    await master.query('select pg_terminate_backend(pid) from pg_stat_replication')
    await pause(100)
    return (await master.query('select from pg_stat_replication')).length === 0
  }
  await waitFor(isCut)
  for (const standby of standbys)
    await waitFor(async () => (await superuserIn(standby).query('select from pg_stat_wal_receiver')).length === 0)
}

test('when the primary is gone and the standby is promoted, no redirect fails, what was lost is not served, and what caches held before stays', async () => {
  const { lost, heir, server, redisUrl, lead, moveTo } = await beforeFailover()
  const create = async (code?: string): Promise<string> => {
    const { status, body } = await server.api('POST', '/links', { url: before, code })
    return status === 201 ? String(body['code']) : ''
  }
  for (const code of ['kept', 'undone']) expect(await create(code)).toBe(code)
  const there = superuserIn(heir)
  const inRedis = async (): Promise<string> => (await redisCommand(redisUrl, 'GET ql:v1:link:kept')) ?? ''
  await waitFor(async () => (await lead('kept')) === before && (await inRedis()).includes(before))
  const writtenS = Number(/"t":(\d+)/.exec(await inRedis())?.[1])
  const isOlder = async () =>
    (await there.query<{ so: boolean }>('select extract(epoch from at) > $1 as so from ql_beat', [writtenS + limits.clocksApartS + 2]))[0]?.so === true // prettier-ignore
  await waitFor(isOlder, { deadlineMs: 40_000 })
  await cutOff(lost, heir)
  expect((await server.api('PATCH', '/links/undone', { url: 'https://example.org/lost' })).status).toBe(200)
  await waitFor(async () => (await lead('undone')) === 'https://example.org/lost')
  const handedOut = await Promise.all(Array.from({ length: 40 }, () => create()))
  await lost.kill()
  for (let n = 0; n < 20; n++) expect(await lead('kept')).toBe(before)
  await there.query('select pg_promote()')
  moveTo(heir)
  // Its passes ask the new primary, which is another timeline.
  await waitFor(
    async () => {
      expect(await lead('kept')).toBe(before)
      return (await server.metric('quicklink_breaker_state{dependency="postgres",state="closed"}')) === 1 && (await lead('undone')) === before
    },
    { deadlineMs: 30_000 },
  ) // prettier-ignore
  const codes: string[] = []
  await waitFor(async () => codes.push(await create()) > 0 && codes.filter(Boolean).length >= 40, {
    deadlineMs: 30_000,
  })
  expect(codes.filter((code) => code !== '' && handedOut.includes(code))).toEqual([])
  const [drawn] = await there.query<{ version: number }>('select last_value as version from link_version_seq')
  expect(drawn?.version).toBeGreaterThan(limits.counterRestoreMargin)
  for (let n = 0; n < 20; n++) expect(await lead('undone')).toBe(before)
  const cursor = parseCursor(/{.*}/.exec((await redisCommand(redisUrl, 'GET ql:v1:cursor')) ?? '')?.[0] ?? null)
  expect(cursor?.lost).toHaveLength(1)
  expect(isLost(cursor?.lost, writtenS)).toBe(false)
  expect((await server.api('GET', '/cache/kept')).body['redis']).toMatchObject({ holds: true })
  expect((await server.api('PATCH', '/links/kept', { url: 'https://example.org/after' })).status).toBe(200)
  await waitFor(async () => (await lead('kept')) === 'https://example.org/after', { deadlineMs: 2000 })
  await there.query(`update links set url = 'https://example.org/by-hand' where code = 'kept'`)
  await waitFor(async () => (await lead('kept')) === 'https://example.org/by-hand', { deadlineMs: 2000 })
}, 180_000)

test('when a second standby is promoted beside the first, and both call their timeline alike, nothing of the first is served', async () => {
  const { lost, heir, server, redisUrl, lead, moveTo } = await beforeFailover()
  const second = await startStandbyOf(lost)
  const there = superuserIn(second)
  expect((await server.api('POST', '/links', { url: before, code: 'twice' })).status).toBe(201)
  const hasIt = async () => (await there.query(`select from links where code = 'twice'`)).length === 1
  await waitFor(hasIt, { deadlineMs: 20_000 })
  await cutOff(lost, heir, second)
  await lost.kill()
  await superuserIn(heir).query('select pg_promote()')
  moveTo(heir)
  const change = async (url: string): Promise<boolean> =>
    (await server.api('PATCH', '/links/twice', { url })).status === 200 && (await lead('twice')) === url
  await waitFor(() => change('https://example.org/of-the-first'), { deadlineMs: 30_000 })
  const inRedis = async (): Promise<string> => (await redisCommand(redisUrl, 'GET ql:v1:link:twice')) ?? ''
  await waitFor(async () => (await lead('twice')) !== before && (await inRedis()).includes('of-the-first'))
  await heir.kill()
  await there.query('select pg_promote()')
  // As far as the first in every number that may be compared.
  const far = `select setval('link_version_seq', 9000000); update ql_meta set identity = ql_identity(); insert into links (code, url)
    select 'other-' || n, 'https://example.org/other' from generate_series(1, 50) as n`
  for (const statement of far.split(';')) await there.query(statement)
  const timelines = await there.query<{ timeline: string }>('select ql_timeline() as timeline')
  expect(timelines).toEqual([{ timeline: '00000002' }])
  moveTo(second)
  await waitFor(async () => (await lead('twice')) === before, { deadlineMs: 30_000 })
  for (let n = 0; n < 20; n++) expect(await lead('twice')).toBe(before)
}, 180_000)
