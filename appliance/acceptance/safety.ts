// What nobody may see, reach or do.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { until } from '../../embedded/wait.ts'
import { compose, composed, docker, idsOf, inService, linesOf } from '../compose.ts'
import { whoReachesWhom } from '../who-reaches-whom.ts'
import { grafanaPort, ownerKey, port, secrets } from './stand.ts'

const opens = (host: string, at: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port: at, timeout: 1000 })
    const answer = (open: boolean) => (): void => {
      socket.destroy()
      resolve(open)
    }
    socket.once('connect', answer(true)).once('error', answer(false)).once('timeout', answer(false))
  })

async function openAmong(host: string, ports: readonly number[]): Promise<number[]> {
  const open: number[] = []
  for (let i = 0; i < ports.length; i += 500) {
    const some = ports.slice(i, i + 500)
    const answers = await Promise.all(some.map((at) => opens(host, at)))
    open.push(...some.filter((_, k) => answers[k]))
  }
  return open
}

const outside = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === 'IPv4' && !each.internal)?.address
const hosts = ['127.0.0.1', ...(outside ? [outside] : [])]
const everyPort = Array.from({ length: 65_535 }, (_, i) => i + 1)

/** The open ports of the machine before the start. */
const before = new Map<string, readonly number[]>()
export async function scan(): Promise<void> {
  for (const host of hosts) before.set(host, await openAmong(host, everyPort))
}

async function newPorts(): Promise<void> {
  for (const [host, known] of before) {
    const expected = host === '127.0.0.1' ? [grafanaPort, port] : [port]
    const open = await openAmong(host, everyPort)
    expect(open, host).toEqual(expect.arrayContaining(expected))
    // Other programs of the machine come and go: what is the appliance's stays.
    let strange = open.filter((at) => !known.includes(at) && !expected.includes(at))
    await until(async () => (strange = await openAmong(host, strange)).length === 0, 90_000, 1000)
    expect(strange, `also open on ${host}`).toEqual([])
  }
}

async function noSecretShows(): Promise<void> {
  const ids = await idsOf('-a')
  const processes = await Promise.all((await idsOf()).map((id) => docker(['top', id, '-eo', 'pid,args'])))
  const shown = {
    configuration: await composed(['config']),
    inspect: (await docker(['inspect', ...ids])).text,
    logs: (await compose(['logs', '--no-color'])).text,
    processes: processes.map(({ text }) => text).join('\n'),
  }
  const hidden = [...(await secrets()), await ownerKey()]
  expect(hidden).toHaveLength(11)
  for (const secret of hidden) expect(secret.length).toBeGreaterThanOrEqual(32)
  for (const [where, text] of Object.entries(shown)) {
    expect(text.length, where).toBeGreaterThan(100)
    // Neither the text nor the secret itself, which a failure would show.
    expect(
      hidden.some((secret) => text.includes(secret)),
      where,
    ).toBe(false)
  }
}

interface Container {
  readonly Id: string
  readonly Name: string
  readonly State: { readonly Pid: number }
  readonly Config: { readonly Labels: Readonly<Record<string, string>> }
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>> }
  readonly HostConfig: object
}

const containers = async (...which: string[]): Promise<Container[]> =>
  JSON.parse((await docker(['inspect', ...(await idsOf('--status', 'running', ...which))])).text) as Container[]

async function fewRights(): Promise<void> {
  for (const { Name, State, HostConfig } of await containers()) {
    const uids = /^Uid:\s+(.*)$/m.exec(readFileSync(`/proc/${State.Pid}/status`, 'utf8'))?.[1] ?? '0'
    expect(uids.split(/\s+/), Name).not.toContain('0')
    expect(HostConfig, Name).toMatchObject({
      ReadonlyRootfs: true,
      Privileged: false,
      CapDrop: expect.arrayContaining(['ALL']) as string[],
      SecurityOpt: expect.arrayContaining([expect.stringMatching(/^no-new-privileges/)]) as string[],
    })
  }
}

const askRedis = `
  const { readFileSync } = await import('node:fs')
  const { Redis } = await import('ioredis')
  const url = readFileSync('/run/quicklink/redis-url', 'utf8')
  const asked = async (target, ...command) => {
    const redis = new Redis(target, { retryStrategy: null, maxRetriesPerRequest: 0 })
    redis.on('error', () => undefined)
    return redis.call(...command).then(() => 'allowed', () => 'refused').finally(() => redis.disconnect())
  }
  console.log([await asked(url, 'get', 'another'), await asked(url, 'eval', 'return redis.call("get", "another")', 0), await asked(url, 'flushall'), await asked(url, 'config', 'set', 'maxmemory', '0'), await asked(url, 'keys', '*'),
    await asked('redis://redis:6379', 'ping'), await asked(url, 'ping')].join())`

/** Dumps and snapshots: for their service alone. */
async function copiesArePrivate(): Promise<void> {
  await inService('redis', ['sh', '-c', 'REDISCLI_AUTH=$(cat /run/quicklink/operator) redis-cli --user operator save'])
  const modesIn = (service: string, folder: string): Promise<string> =>
    inService(service, ['sh', '-c', `stat -c '%a %n' ${folder} ${folder}/*`])
  const lines = linesOf((await modesIn('redis', '/data')) + (await modesIn('backup', '/backups')))
  expect(lines.length).toBeGreaterThanOrEqual(4)
  for (const line of lines) expect(line).toMatch(/^(700 \/\w+|600 \S+)$/)
}

export function isSafe(): void {
  test('no secret is in the configuration, `docker inspect`, a command line or a log', noSecretShows)
  test('the machine has two new open ports: QuickLink, and Grafana on loopback', newPorts)
  test('no service is root, none can gain rights, and every root file system is read-only', fewRights)
  test('dumps and the snapshot of Redis can be read by their service alone', copiesArePrivate)
  test('QuickLink may not read what is not its own, flush or reconfigure Redis, and nobody without a name may anything', async () => {
    const said = (await inService('quicklink', ['node', '--input-type=module', '-e', askRedis])).trim()
    expect(said).toBe('refused,refused,refused,refused,refused,refused,allowed')
  })
}

const ports: Readonly<Record<string, readonly number[]>> = {
  quicklink: [8080, 9464],
  redis: [6379],
  postgres: [5432],
  'redis-exporter': [9121],
  'postgres-exporter': [9187],
  prometheus: [9090],
  alertmanager: [9093],
  grafana: [3000],
}

/** Run in the network of a container: which of these addresses take a connection. */
const tryAll = `
  const { connect } = require('node:net')
  const opens = (place) => new Promise((resolve) => {
    const [host, port] = place.split(':')
    const socket = connect({ host, port, timeout: 1500 })
    const answer = (open) => () => { socket.destroy(); resolve(open ? place : '') }
    socket.once('connect', answer(true)).once('error', answer(false)).once('timeout', answer(false))
  })
  Promise.all(process.argv.slice(1).map(opens)).then((open) => console.log(open.filter(Boolean).join(' ')))`

const insideOf = async ({ Id }: Container, script: string, ...args: string[]): Promise<string> => {
  const inside = ['--network', `container:${Id}`, '--entrypoint', 'node']
  const { code, text, errors } = await docker(['run', '--rm', ...inside, 'quicklink', '-e', script, ...args])
  expect(code, errors).toBe(0)
  return text.trim()
}

/** Tried from inside each container, by every address that the other one has. */
async function reach(): Promise<void> {
  const running = await containers()
  const nameOf = ({ Config }: Container): string => Config.Labels['com.docker.compose.service'] ?? ''
  const places = new Map(
    running.flatMap((container) =>
      Object.values(container.NetworkSettings.Networks).flatMap(({ IPAddress }) =>
        (ports[nameOf(container)] ?? []).map((port): [string, string] => [`${IPAddress}:${port}`, nameOf(container)]),
      ),
    ),
  )
  for (const container of running) {
    const name = nameOf(container)
    const others = [...places].filter(([, other]) => other !== name)
    const open = (await insideOf(container, tryAll, ...others.map(([place]) => place))).split(' ')
    const reached = new Set(open.flatMap((place) => places.get(place) ?? []))
    const expected = (whoReachesWhom[name] ?? '').split(' ').filter((other) => ports[other])
    expect([...reached].toSorted(), name).toEqual(expected.toSorted())
  }
}

const write = `fetch('http://prometheus:9090/api/v1/write', { method: 'POST' }).then(({ status }) => console.log(status))`

export function isApart(): void {
  test('each service reaches those that it has to do with, and no others', reach)
  test('Prometheus takes no figures from Grafana, which reaches it', async () => {
    const [grafana] = await containers('grafana')
    expect(await insideOf(grafana as Container, write)).toBe('404')
  })
}
