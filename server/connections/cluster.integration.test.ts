// A real Redis Cluster: six servers, of which one is killed or emptied, or a slot moves.
import { beforeAll, describe, expect, it } from 'vitest'
import type { ClusterServer, RedisCluster } from '../../loadtest/faults/clusters.ts'
import { startTestApp, type TestApp } from '../../testing/app.ts'
import { apiOf } from '../../testing/http.ts'
import { freshDatabase, handInPsql, startCluster, waitFor } from '../../testing/services.ts'
import { loadConfig } from '../config.ts'
import type { Code } from '../link.ts'
import { keysIn } from '../redis-keys.ts'
import { Breaker } from './breaker.ts'
import { lacksOf } from './cluster-needs.ts'
import { openCluster } from './cluster.ts'
import type { Postgres } from './postgres.ts'
import { nodeTarget, openRedis } from './redis.ts'
import { partitionOf, slotOf, tagsFor } from './slots.ts'

const partitions = 16
const tags = tagsFor(partitions)
const keys = tags.map((tag) => keysIn(tag))
const patience = { deadlineMs: 30_000 }

let cluster: RedisCluster
let apps: readonly [TestApp, TestApp]
let codes: string[]
let hand: Postgres

const partitionOfCode = (code: string): number => partitionOf(code, partitions)
const slotOfPartition = (n: number): number => slotOf(tags[n]!)
const statusOf = ({ app }: TestApp) =>
  (app.status() as { redis: { ready: boolean; trusted: boolean; partitions: number; untrusted: number } }).redis
const areTrusted = (): boolean => apps.every((app) => statusOf(app).trusted)
const target = (code: string, of = 'first'): string => `https://example.org/${code}/${of}`
const leadsTo = async (app: TestApp, code: string): Promise<string | number> => {
  const { status, headers } = await app.get(`/${code}`)
  return status === 302 ? String(headers['location']) : status
}
const heldAt = async (owner: ClusterServer, code: string): Promise<boolean> =>
  (await cluster.tell(owner, `EXISTS ${keys[partitionOfCode(code)]!.link(code as Code)}`)) === ':1'
const heldAll = async (codes: readonly string[]): Promise<boolean> =>
  (await Promise.all(codes.map(async (code) => heldAt(await ownerOf(code), code)))).every(Boolean)
const ownerOf = async (code: string): Promise<ClusterServer> =>
  (await cluster.ownerOf(slotOfPartition(partitionOfCode(code))))!

beforeAll(async () => {
  cluster = await startCluster()
  const databaseUrl = await freshDatabase()
  hand = handInPsql(databaseUrl)
  // Tier 1 keeps next to nothing: what is asked for is looked up.
  const env = { ...cluster.env, REDIS_PARTITIONS: String(partitions), LOCAL_CACHE_MAX: '1' }
  const first = await startTestApp({ databaseUrl, env })
  apps = [first, await startTestApp({ databaseUrl, env, key: first.key })]
  await waitFor(areTrusted, patience)
  codes = Array.from({ length: 60 }, (_, n) => `code-${n}`)
  await Promise.all(codes.map((code) => first.create(target(code), { code })))
})

const askAll = async (): Promise<void> => {
  for (const app of apps)
    for (const code of codes) expect([code, await leadsTo(app, code)]).toEqual([code, target(code)])
}

describe('on a Redis Cluster', () => {
  it('each link is in its partition, and is answered from there', async () => {
    await askAll()
    for (const code of codes) expect([code, await heldAt(await ownerOf(code), code)]).toEqual([code, true])
    const before = await apps[1].metric('quicklink_lookups_total', { source: 'redis' })
    await askAll()
    expect((await apps[1].metric('quicklink_lookups_total', { source: 'redis' })) - before).toBeGreaterThan(50)
  })

  it('what it lacks, and what our user may not, is said with what to change', async () => {
    const [node] = cluster.nodes as [ClusterServer]
    const settings = { 'maxmemory-policy': 'allkeys-lru', 'cluster-require-full-coverage': 'yes', 'cluster-node-timeout': '20000' } // prettier-ignore
    const before: string[] = []
    for (const [name, value] of Object.entries(settings)) {
      before.push(`CONFIG SET ${name} ${(await cluster.tell(node, `CONFIG GET ${name}`)).split('\r\n').at(-1)}`)
      await cluster.tell(node, `CONFIG SET ${name} ${value}`)
    }
    await cluster.tell(node, 'ACL SETUSER poor on >pw ~ql:* &ql:* +@all -cluster -config')
    const lacksAs = async (user: object): Promise<string[]> => {
      const config = loadConfig({ DATABASE_URL: 'postgres://nobody@127.0.0.1/none', ...cluster.env, ...user })
      const ignore = (): void => undefined
      const met: Promise<string[]>[] = []
      const { close } = openCluster({
        seeds: [`127.0.0.1:${node.server.port}`],
        tags,
        open: (address) => ({
          redis: openRedis(nodeTarget(config, address), { onError: ignore, onCommand: ignore }),
          breaker: new Breaker({ failures: 5, windowMs: 1000, openMs: 1000 }),
        }),
        onMet: (redis) => void met.push(lacksOf(redis)),
      })
      await waitFor(() => met.length > 0, patience)
      const lacks = await met[0]!
      close()
      return lacks
    }
    expect(await lacksAs({ REDIS_USERNAME: '' })).toEqual([
      expect.stringMatching(/^maxmemory-policy is allkeys-lru .* must be volatile-lru$/),
      expect.stringMatching(/cluster-require-full-coverage to no$/),
      expect.stringMatching(/after 20 s: set cluster-node-timeout to 5000$/),
    ])
    expect(await lacksAs({ REDIS_USERNAME: 'poor', REDIS_PASSWORD: 'pw' })).toEqual([
      expect.stringMatching(/may not ask which nodes there are: give it \+cluster\|slots/),
      expect.stringMatching(/may not read our keys: give it ~ql:\*, ~links:\*/),
      expect.stringMatching(/^maxmemory-policy is allkeys-lru/),
    ])
    for (const command of before) await cluster.tell(node, command)
  })

  it('hits, quotas and rates are counted in the partition of their link or tenant', async () => {
    const [one, other] = apps
    const code = await one.create(target('limited'), { code: 'limited', monthlyHits: 5 })
    const answers: number[] = []
    for (let n = 0; n < 6; n++) for (const app of apps) answers.push((await app.get(`/${code}`)).status)
    expect(answers.filter((status) => status === 302)).toHaveLength(5)

    await one.api('POST', '/tenants', { id: 'acme', name: 'Acme', tier: 'standard' })
    const { key } = (await one.api('POST', '/tenants/acme/keys', { name: 'first' })).body as { key: string }
    const create = apiOf(other.url, key)
    for (const [of, key] of [
      ['tenant:acme', (n: number) => keys[n]!.units('tenant:acme')],
      ['aggregate', (n: number) => keys[n]!.units('aggregate')],
      ['acme', (n: number) => keys[n]!.quota('acme', 'used')],
      ['limited', (n: number) => keys[n]!.hits('limited', new Date().toISOString().slice(0, 7))[0]],
    ] as const) {
      const n = partitionOf(of, partitions)
      const owner = (await cluster.ownerOf(slotOfPartition(n)))!
      // A Redis that is late by a deadline is not asked for a moment: then a create counts in memory.
      await waitFor(async () => {
        if (of !== 'limited') expect((await create('POST', '/links', { url: target(of) })).status).toBe(201)
        return (await cluster.tell(owner, `EXISTS ${key(n)}`)) === ':1'
      }, patience)
    }
  })

  it('while a slot moves, its partition is not trusted, the others notice nothing, and nothing old comes back', async () => {
    const [one, other] = apps
    const code = codes[0]!
    const n = partitionOfCode(code)
    await askAll()
    const from = await ownerOf(code)
    const owners = await Promise.all(codes.map(ownerOf))
    const to = owners.find((owner) => owner !== from)!
    expect(to).not.toBe(from)
    await cluster.beginMove(slotOfPartition(n), to)
    // A change has to be written where the slot is, and cannot be: until it has moved, Redis is not asked.
    await one.api('PATCH', `/links/${code}`, { url: target(code, 'second') })
    await waitFor(() => apps.every((app) => statusOf(app).untrusted === 1), patience)
    await waitFor(async () => (await leadsTo(other, code)) === target(code, 'second'), patience)
    for (const app of apps)
      for (const code of codes.slice(1)) expect([code, await leadsTo(app, code)]).toEqual([code, target(code)])
    await cluster.endMove(slotOfPartition(n))
    await waitFor(areTrusted, patience)
    for (const app of apps) expect(await leadsTo(app, code)).toBe(target(code, 'second'))
    await waitFor(() => heldAt(to, code), patience)
    await one.api('PATCH', `/links/${code}`, { url: target(code) })
    await waitFor(async () => (await leadsTo(other, code)) === target(code), patience)
  })

  it('more changes at once than a pass lists are forgotten in all partitions, and none is undone', async () => {
    const many = 1700
    const some = Array.from({ length: 60 }, (_, n) => `many-${n * 28}`)
    const sayAll = async (of: string): Promise<void> => {
      for (const app of apps) for (const code of some) expect([code, await leadsTo(app, code)]).toEqual([code, target(code, of)])
    } // prettier-ignore
    const changeAll = (of: string) =>
      hand.query(`update links set url = 'https://example.org/' || code || '/' || $1 where code like 'many-%'`, [of])
    await hand.query(
      `insert into links (code, url) select 'many-' || n, 'https://example.org/many-' || n || '/first' from generate_series(0, $1 - 1) n`,
      [many],
    )
    await sayAll('first')
    await waitFor(() => heldAll(some), patience)
    // Nobody announces it: passes alone hear of it.
    await changeAll('second')
    await waitFor(async () => {
      const led = await Promise.all(apps.flatMap((app) => some.map((code) => leadsTo(app, code))))
      return led.every((to) => String(to).endsWith('/second'))
    }, patience)
    await waitFor(areTrusted, patience)
    await sayAll('second')
    // And by the API, where the process that is asked announces them.
    const codes = Array.from({ length: 600 }, (_, n) => `many-${n}`)
    const { status } = await apps[0].api('PATCH', '/links/bulk', { codes, change: { enabled: false } })
    expect(status).toBe(200)
    const gone = some.filter((code) => codes.includes(code))
    await waitFor(async () => {
      const led = await Promise.all(apps.flatMap((app) => gone.map((code) => leadsTo(app, code))))
      return led.every((to) => to === 404)
    }, patience)
    await waitFor(areTrusted, patience)
    for (const app of apps) for (const code of gone) expect([code, await leadsTo(app, code)]).toEqual([code, 404])
  })

  it('when a node is emptied, all redirects are right, and its partitions are trusted again', async () => {
    await askAll()
    await cluster.tell(await ownerOf(codes[1]!), 'FLUSHALL')
    await askAll()
    await waitFor(areTrusted, patience)
    await askAll()
  })

  it('when a primary is killed and a replica that was behind takes its place, no disabled link comes back', async () => {
    const [one, other] = apps
    await askAll()
    const code = codes[2]!
    const old = await ownerOf(code)
    const replica = await cluster.cutReplicaOf(old)
    const mine = (await Promise.all(tags.map((tag) => cluster.ownerOf(slotOf(tag))))).filter((owner) => owner === old)
    await one.api('PATCH', `/links/${code}`, { enabled: false })
    await waitFor(async () => (await leadsTo(other, code)) === 404, patience)
    await old.server.kill()
    const over = new AbortController()
    const looking = (async () => {
      while (!over.signal.aborted) {
        for (const app of apps) {
          expect(await leadsTo(app, code)).toBe(404)
          for (const code of codes.slice(3, 20)) expect([code, await leadsTo(app, code)]).toEqual([code, target(code)])
        }
      }
    })()
    await Promise.race([looking, waitFor(() => apps.every((app) => statusOf(app).untrusted === mine.length), patience)])
    await Promise.race([looking, cluster.promoted(slotOfPartition(partitionOfCode(code)), old)])
    await Promise.race([looking, waitFor(areTrusted, { deadlineMs: 60_000 })])
    over.abort()
    await looking
    expect(await cluster.ownerOf(slotOfPartition(partitionOfCode(code)))).toBe(replica)
    for (const app of apps) expect(await leadsTo(app, code)).toBe(404)
    // Its breaker was open, and went with it.
    for (const app of apps) {
      expect(await app.metric('quicklink_breaker_transitions_total', { dependency: 'redis', to: 'open' })).toBeGreaterThan(0) // prettier-ignore
      expect(await app.metric('quicklink_breaker_state', { dependency: 'redis', state: 'open' })).toBe(0)
    }
  })
})
