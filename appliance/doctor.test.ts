import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { redisPoints } from './doctor-redis.ts'
import { examine } from './doctor.ts'
import type { Patient } from './patient.ts'

afterEach(() => (process.exitCode = 0))

const breaker = (open: 0 | 1): string =>
  ['closed', 'open', 'half_open']
    .map((state) => `quicklink_breaker_state{dependency="redis",state="${state}"} ${state === 'closed' ? 1 : state === 'open' ? open : 0}`)
    .join('\n') // prettier-ignore

const asked = (settings: Record<string, string>) => (statement: string) =>
  Promise.resolve(settings[statement.replace('show ', '')] ?? '')

const well: Patient = {
  ops: () => Promise.resolve(''),
  visit: () => Promise.resolve(),
  postgres: asked({}),
  redis: () => Promise.resolve('1'),
  nodes: () => Promise.resolve([]),
  settings: () => Promise.resolve({ breakerFailures: 5, breakerWindowMs: 10_000, breakerOpenMs: 30_000 }),
  prometheus: undefined,
  alertmanager: undefined,
  exposed: () => Promise.resolve([]),
  open: () => Promise.resolve([]),
  leaks: () => Promise.resolve([]),
  more: {},
}

async function linesOf(
  metrics: string,
  about = 'Circuit breaker',
  trustProxy = 'off',
  open: string[] = [],
  postgres: Patient['postgres'] = asked({}),
) {
  const settings = { ...(await well.settings()), trustProxy }
  const patient: Patient = {
    ...well,
    ops: () => Promise.resolve(metrics),
    postgres,
    settings: () => Promise.resolve(settings),
    open: () => Promise.resolve(open),
  }
  const lines: string[] = []
  await examine(patient, (line) => lines.push(line))
  return lines.filter((line) => line.includes(about))
}

test('a breaker that is open in one worker is not ok, although it is closed in another', async () => {
  expect(await linesOf(breaker(0))).toEqual([expect.stringMatching(/^ok +Circuit breaker for Redis: closed; /)])
  expect(await linesOf(breaker(1))).toEqual([
    expect.stringMatching(/^not ok +Circuit breaker for Redis: closed and open; /),
  ])
})

test('behind a proxy that is counted, a port that others reach too is not ok; behind one that is named, it is said', async () => {
  const port = (trustProxy: string, open: string[]) => linesOf('', 'The port behind', trustProxy, open)
  const everywhere = ['port 8080 of 0.0.0.0 (HOST)']
  expect(await port('off', everywhere)).toEqual([expect.stringMatching(/^ok .*TRUST_PROXY is off/)])
  expect(await port('1', [])).toEqual([expect.stringMatching(/^ok .*only the proxy/)])
  expect(await port('1', everywhere)).toEqual([expect.stringMatching(/^not ok .*by port 8080 of 0\.0\.0\.0 \(HOST\)/)])
  expect(await port('loopback', everywhere)).toEqual([expect.stringMatching(/^ok .*without the proxy, by port 8080/)])
})

test('a proxy that forwards and is not named is not ok, a stranger who does is only said', async () => {
  const told = (near: number, far: number) =>
    linesOf(
      `\nquicklink_forwarded_unheeded_total{peer="private"} ${near}\nquicklink_forwarded_unheeded_total{peer="public"} ${far}`,
      'told apart',
    )
  expect(await told(0, 0)).toEqual([expect.stringMatching(/^ok .*nobody forwards/)])
  expect(await told(0, 7)).toEqual([expect.stringMatching(/^ok .*7 strangers/)])
  expect(await told(3, 7)).toEqual([expect.stringMatching(/^not ok .*3 requests .* TRUST_PROXY does not name/)])
})

test('redirects that node:http has to answer are not ok when they are more than one in twenty; those of the API, and QR codes, are meant for it', async () => {
  const told = (left: number, api: number, all: number) =>
    linesOf(
      `quicklink_redirects_total{status="302"} ${all - 10}\nquicklink_redirects_total{status="404"} 10\n` +
        `quicklink_front_door_handovers_total{reason="api"} ${api}\n` +
        `quicklink_front_door_handovers_total{reason="aside"} ${api}\nquicklink_front_door_handovers_total{reason="unrecognised"} ${left}`,
      'at the front door',
    )
  expect(await told(50, 5000, 1000)).toEqual([expect.stringMatching(/^ok .*5.0 % of 1000 redirects/)])
  expect(await told(51, 0, 1000)).toEqual([
    expect.stringMatching(/^not ok .*5.1 % .*front_door_handovers_total says why/),
  ])
  expect(await told(20, 0, 40)).toEqual([expect.stringMatching(/^ok .*50.0 % of 40/)])
})

test('a domain that leads elsewhere, or nowhere, is named with what to look at', async () => {
  const said = new Map([['/.well-known/quicklink', 'proof']])
  const server = createServer((req, res) => res.end(`${said.get(req.url ?? '') ?? ''}\n`)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const told = (domains: object) =>
    linesOf(JSON.stringify({ workers: [{ status: null }, { status: { domains } }] }), 'Domains')
  expect(await told({})).toEqual([expect.stringMatching(/^ok .*none besides/)])
  expect(await told({ [here]: 'proof' })).toEqual([expect.stringMatching(/^ok .*1 of 1/)])
  expect(await told({ [here]: 'another' })).toEqual([
    expect.stringMatching(/^not ok .*DNS.*answers 200, and not as this/),
  ])
  expect(await told({ 'http://127.0.0.1:9': 'proof' })).toEqual([expect.stringMatching(/^not ok .*does not answer/)])
  server.close()
})

test('it says what is lost with the machine of Postgres', async () => {
  const lost = (settings: Record<string, string>) => linesOf('', 'What a lost Postgres', 'off', [], asked(settings))
  const alone = /^ok .*synchronous_standby_names is empty: what was acknowledged is on this disk alone/
  expect(await lost({ synchronous_commit: 'on' })).toEqual([expect.stringMatching(alone)])
  const beside = { synchronous_standby_names: 'ANY 1 (a, b)' }
  expect(await lost({ synchronous_commit: 'on', ...beside })).toEqual([
    expect.stringMatching(/^ok .*nothing that was acknowledged: it is on a standby, too .*ANY 1 \(a, b\)/),
  ])
  expect(await lost({ synchronous_commit: 'local', ...beside })).toEqual([
    expect.stringMatching(/^ok .*synchronous_commit is local: .*this disk alone/),
  ])
  expect(await lost({ synchronous_commit: 'off', ...beside })).toEqual([expect.stringMatching(/^not ok .*is off/)])
})

test('it says what the standby near by is, and how far behind', async () => {
  const told = (...replicas: object[]) =>
    linesOf(JSON.stringify({ workers: [{ status: null }, ...replicas.map((replica) => ({ status: { replica } }))] }), 'The standby near by') // prettier-ignore
  const replica = { fit: true, isStandby: true, lagS: 0.21 }
  expect(await linesOf('{"workers":[{"status":{}}]}', 'The standby near by')).toEqual([
    expect.stringMatching(/^ok .*there is none/),
  ])
  expect(await told(replica, { ...replica, lagS: 0.34 })).toEqual([expect.stringMatching(/^ok .*0\.3 s behind/)])
  expect(await told(replica, { ...replica, fit: false, lagS: 12 })).toEqual([
    expect.stringMatching(/^not ok .*12\.0 s behind .*the primary is asked instead/),
  ])
  expect(await told({ ...replica, isStandby: false })).toEqual([expect.stringMatching(/^not ok .*is no standby/)])
  expect(await told({ ...replica, lagS: null })).toEqual([expect.stringMatching(/^not ok .*never answered/)])
})

/** What each node answers to a command, by its beginning. */
type Node = Readonly<Record<string, string>>

async function redisSays(nodes: Readonly<Record<string, Node>>, point: string): Promise<string> {
  const patient: Patient = {
    ...well,
    nodes: () => Promise.resolve(Object.keys(nodes).filter((name) => name !== 'redis')),
    redis(command, node = 'redis') {
      const answers = nodes[node] ?? {}
      const known = Object.keys(answers).find((each) => command.join(' ').startsWith(each))
      return Promise.resolve(known === undefined ? '+OK' : answers[known]!)
    },
  }
  const said = await redisPoints(patient)[point]!()
  return said === 'not here' ? said : `${said.ok ? 'ok' : 'not ok'}: ${said.text}`
}

const config = (name: string, value: string): Node => ({ [`config get ${name}`]: `${name}\n${value}\n` })
const node = {
  ...config('maxmemory-policy', 'volatile-lru'),
  ...config('maxmemory', String(2 ** 32)),
  ...config('cluster-require-full-coverage', 'no'),
  ...config('cluster-node-timeout', '5000'),
  'cluster info': 'cluster_state:ok\r\n',
  'cluster nodes': [
    'a1 10.0.0.1:6379@16379 myself,master - 0 1 1 connected 0-8191',
    'b1 10.0.0.2:6379@16379,host master - 0 1 2 connected 8192-16383 [5->-a1]',
    'a2 10.0.0.3:6379@16379 slave a1 0 1 1 connected',
    'b2 10.0.0.4:6379@16379 slave b1 0 1 2 connected',
    'c1 10.0.0.5:6379@16379 master - 0 1 3 connected',
    '',
  ].join('\n'),
} satisfies Node

test('of a Redis Cluster each node is looked at, and one that is not as it must be is named with what to change', async () => {
  const told = (point: string, more: Node = {}) => redisSays({ 'redis-1': node, 'redis-2': { ...more, ...node, ...more } }, point) // prettier-ignore
  const [bound, policy, cover] = ['Redis maxmemory', 'Redis maxmemory-policy', 'While a part of Redis has no primary']
  expect(await told(bound)).toBe('ok: 4.0 GB at each of 2 nodes')
  expect(await told(bound, config('maxmemory', '0'))).toMatch(/^not ok: redis-2 has no bound: set maxmemory/)
  expect(await told(policy)).toBe('ok: volatile-lru')
  expect(await told(policy, config('maxmemory-policy', 'allkeys-lru'))).toMatch(
    /^not ok: redis-2 has allkeys-lru, but must be volatile-lru/,
  )
  expect(await told(cover)).toMatch(/^ok: /)
  expect(await told(cover, config('cluster-require-full-coverage', 'yes'))).toMatch(
    /^not ok: redis-2 stops answering.* set cluster-require-full-coverage to no$/,
  )
  expect(await told(cover, config('cluster-node-timeout', '60000'))).toMatch(
    /^not ok: redis-2 waits for 60 s .* set cluster-node-timeout to 5000$/,
  )
  expect(await redisSays({ redis: node }, cover)).toBe('not here')
})

test('a right or a pattern of keys that our user lacks in Redis is named', async () => {
  const refusing = (...commands: string[]): Node => ({
    ...Object.fromEntries(commands.map((each) => [`acl dryrun quicklink ${each}`, 'User quicklink has no permissions'])), // prettier-ignore
    ...node,
  })
  const told = (nodes: Readonly<Record<string, Node>>) => redisSays(nodes, 'What QuickLink may do in Redis')
  expect(await told({ redis: node })).toBe('ok: quicklink may do what it has to')
  expect(await told({ redis: refusing('unlink ql:', 'scan') })).toMatch(
    /^not ok: does not let quicklink unlink ql:v1:404:a, nor scan 0: give it .*quicklink\.acl$/,
  )
  // A single Redis is not asked for what only a cluster needs.
  const older = refusing('cluster slots')
  expect(await told({ redis: older })).toMatch(/^ok: /)
  expect(await told({ 'redis-1': node, 'redis-2': older })).toMatch(
    /^not ok: redis-2 does not let quicklink cluster slots: /,
  )
})

test('a part of a cluster that nobody would take over, or that has no primary, is not ok', async () => {
  const told = (more: Node) =>
    redisSays({ 'redis-1': { ...node, ...more }, 'redis-2': node }, 'Each part of Redis has a replica')
  expect(await told({})).toBe('ok: each of 2')
  expect(await told({ 'cluster nodes': node['cluster nodes'].replace('slave b1', 'slave,fail b1') })).toBe(
    'not ok: nobody takes the place of 10.0.0.2:6379',
  )
  expect(await told({ 'cluster info': 'cluster_state:fail\r\n' })).toMatch(/^not ok: a part has no primary/)
})
