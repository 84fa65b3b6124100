// What nobody may see, reach or do.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { until } from '../../embedded/wait.ts'
import { compose, composed, docker, idsOf, inService } from '../compose.ts'
import { grafanaPort, ownerKey, port, secrets } from './stand.ts'
import { check, step } from './steps.ts'

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

/** The open ports of the machine by now; to be called before the start. */
export async function scan(): Promise<Map<string, Set<number>>> {
  const found = new Map<string, Set<number>>()
  for (const host of hosts) found.set(host, new Set(await openAmong(host, everyPort)))
  return found
}

async function newPorts(before: Map<string, Set<number>>): Promise<string> {
  for (const [host, known] of before) {
    const expected = host === '127.0.0.1' ? [port, grafanaPort] : [port]
    const open = await openAmong(host, everyPort)
    for (const at of expected) check(open.includes(at), `${host}:${at} is closed`)
    // Other programs of the machine come and go: what is the appliance's stays.
    let strange = open.filter((at) => !known.has(at) && !expected.includes(at))
    await until(async () => (strange = await openAmong(host, strange)).length === 0, 90_000, 1000)
    check(strange.length === 0, `also open on ${host}: ${strange.join(', ')}`)
  }
  return `all ports of ${hosts.length} addresses asked: ${port}, and ${grafanaPort} on loopback`
}

async function noSecretShows(): Promise<string> {
  const ids = await idsOf('-a')
  const processes = await Promise.all((await idsOf()).map((id) => docker(['top', id, '-eo', 'pid,args'])))
  const shown = {
    configuration: await composed(['config']),
    inspect: (await docker(['inspect', ...ids])).text,
    logs: (await compose(['logs', '--no-color'])).text,
    processes: processes.map(({ text }) => text).join('\n'),
  }
  const hidden = [...(await secrets()), await ownerKey()]
  check(hidden.length === 9 && hidden.every((secret) => secret.length >= 32), `${hidden.length} secrets were found`)
  for (const [where, text] of Object.entries(shown)) {
    check(text.length > 100, `${where}: nothing to look at`)
    check(!hidden.some((secret) => text.includes(secret)), `${where}: a secret is in it`)
  }
  return `${hidden.length} secrets looked for`
}

interface Inspected {
  readonly Name: string
  readonly State: { readonly Pid: number }
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean
    readonly Privileged: boolean
    readonly CapDrop: readonly string[] | null
    readonly SecurityOpt: readonly string[] | null
  }
}

async function fewRights(): Promise<string> {
  const all = JSON.parse((await docker(['inspect', ...(await idsOf())])).text) as Inspected[]
  for (const { Name, State, HostConfig } of all) {
    const uids = /^Uid:\s+(.*)$/m.exec(readFileSync(`/proc/${State.Pid}/status`, 'utf8'))?.[1] ?? '0'
    const { ReadonlyRootfs, Privileged, CapDrop, SecurityOpt } = HostConfig
    check(!uids.split(/\s+/).includes('0'), `${Name} runs as ${uids}`)
    check(ReadonlyRootfs && !Privileged, `${Name} may write its root file system`)
    check(CapDrop?.includes('ALL') === true, `${Name} has capabilities`)
    check(SecurityOpt?.some((option) => option.startsWith('no-new-privileges')) === true, `${Name} may gain rights`)
  }
  return `${all.length} containers`
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
async function copiesArePrivate(): Promise<string> {
  await inService('redis', ['sh', '-c', 'REDISCLI_AUTH=$(cat /run/quicklink/operator) redis-cli --user operator save'])
  const found = await Promise.all(
    [['redis', '/data'], ['backup', '/backups']].map(([service = '', folder = '']) =>
      inService(service, ['sh', '-c', `stat -c '%a %n' ${folder} ${folder}/*`]),
    ),
  ) // prettier-ignore
  const lines = found.join('').trim().split('\n')
  check(lines.length >= 4, `too little was found: ${lines.join(', ')}`)
  for (const line of lines) check(/^(700 \/\w+|600 \S+)$/.test(line), line)
  return lines.join(', ')
}

export async function isSafe(before: Map<string, Set<number>>): Promise<void> {
  await step('no secret is in the configuration, `docker inspect`, a command line or a log', noSecretShows)
  await step('the machine has two new open ports: QuickLink, and Grafana on loopback', () => newPorts(before))
  await step('no service is root, none can gain rights, and every root file system is read-only', fewRights)
  await step('dumps and the snapshot of Redis can be read by their service alone', copiesArePrivate)
  await step(
    'QuickLink may not read what is not its own, flush or reconfigure Redis, and nobody without a name may anything',
    async () => {
      const said = (await inService('quicklink', ['node', '--input-type=module', '-e', askRedis])).trim()
      check(said === 'refused,refused,refused,refused,refused,refused,allowed', said)
      return undefined
    },
  )
}
