import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { examine, type Patient } from './doctor.ts'

afterEach(() => (process.exitCode = 0))

const breaker = (open: 0 | 1): string =>
  ['closed', 'open', 'half_open']
    .map((state) => `quicklink_breaker_state{dependency="redis",state="${state}"} ${state === 'closed' ? 1 : state === 'open' ? open : 0}`)
    .join('\n') // prettier-ignore

const asked = (settings: Record<string, string>) => (statement: string) =>
  Promise.resolve(settings[statement.replace('show ', '')] ?? '')

async function linesOf(
  metrics: string,
  about = 'Circuit breaker',
  trustProxy = 'off',
  open: string[] = [],
  postgres: Patient['postgres'] = asked({}),
) {
  const patient: Patient = {
    ops: () => Promise.resolve(metrics),
    visit: () => Promise.resolve(),
    postgres,
    redis: () => Promise.resolve('1'),
    settings: () => Promise.resolve({ breakerFailures: 5, breakerWindowMs: 10_000, breakerOpenMs: 30_000, trustProxy }),
    prometheus: undefined,
    alertmanager: undefined,
    exposed: () => Promise.resolve([]),
    open: () => Promise.resolve(open),
    leaks: () => Promise.resolve([]),
    more: {},
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
