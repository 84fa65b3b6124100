// QuickLink beside others that answer the same link, in one run with the same generator.   make bench-peers
// PEERS=name=http://127.0.0.1:4567/hot-link@1234,… adds servers that run already: a link that redirects, and a pid.
import { loadavg } from 'node:os'
import { Refusal } from '../../embedded/paths.ts'
import { redisProgram } from '../../embedded/temporary.ts'
import { doubtsOfSpeed, watchMachine } from '../measure/machine.ts'
import { pin } from '../measure/cpu.ts'
import { makeReport, type Report } from '../report/report.ts'
import { short } from '../report/text.ts'
import { command } from '../report/command.ts'
import { numberOf } from '../report/knobs.ts'
import { markdown, writeReport } from '../report/write.ts'
import { hot, loadLinks, openArena, trusted, type Arena } from './arena.ts'
import { browserHeaders, type Load } from './loads.ts'
import { isInstalled, versionOf } from './proxies.ts'
import { bareOf } from './report.ts'
import { checkAll, measureAll, repetitionsRange, secondsRange, type Subject } from './subjects.ts'

interface Named {
  readonly name: string
  readonly url: URL
  readonly pid: number
}

/** `name=http://host:port/code@pid`, several separated by commas. */
export function peersIn(text: string): Named[] {
  const parts = text.split(',').filter((part) => part !== '')
  return parts.map((part) => {
    const [, name = '', address = '', pid = ''] = /^([\w.-]{1,40})=(http:\/\/[^@]{1,200})@(\d{1,10})$/.exec(part) ?? []
    if (name === '' || !URL.canParse(address))
      throw new Refusal(`PEERS has ${part}, but must be name=http://host:port/code@pid, separated by commas.`)
    return { name, url: new URL(address), pid: Number(pid) }
  })
}

async function contestants(arena: Arena, named: readonly Named[]): Promise<Subject[]> {
  const browser: Load = { ...hot, headers: browserHeaders }
  const quickLink = await arena.quickLink({ REDIS_URL: arena.stand.redis.url })
  await loadLinks(arena.stand, 2000)
  await trusted(quickLink)
  const both = (name: string, what: string, server: Subject['server'], path = '/hot-link'): Subject[] =>
    [hot, browser].map((load) => ({
      name: `${name}${load === hot ? '' : 'Browser'}`,
      what: `${what}${load === hot ? '' : ", a browser's headers"}`,
      server,
      load: { ...load, paths: { kind: 'one', path } },
    }))
  const redis = await arena.plainRedis('hot-link', 'https://example.org/a/page/of/usual/length?from=quicklink')
  const alone = (['nginxAlone', 'haproxyAlone'] as const).filter(isInstalled)
  return [
    ...both('net', 'a bare socket that reads nothing', await arena.peer('net')),
    ...both('http', 'bare `node:http`', await arena.peer('http')),
    ...both('raw', 'QuickLink, with clicks, quotas and metrics', quickLink),
    ...(await Promise.all(alone.map(async (name) => both(name, `${name === 'nginxAlone' ? 'nginx' : 'HAProxy'}, a fixed 302`, await arena.alone(name))))).flat(),
    { name: 'redis', what: 'Redis, GET of a key', server: redis, load: { ...hot, inline: 'GET hot-link\r\n', status: 200 } },
    ...named.flatMap(({ name, url, pid }) => both(name, name, { url: url.origin, pid }, url.pathname)),
  ]
} // prettier-ignore

async function run(arena: Arena, named: readonly Named[], seconds: number, repetitions: number): Promise<Report> {
  const before = (loadavg()[0] ?? 0).toFixed(2)
  const machine = watchMachine()
  console.log('Starting the servers')
  const all = await contestants(arena, named)
  for (const { pid } of named) pin(pid, arena.cores?.server)
  await checkAll(all.filter(({ load }) => load.inline === undefined))
  const subjects = await measureAll(arena, all, { seconds, repetitions, warmUpS: 1 }, (line) => console.log(line))
  const rows = Object.entries(subjects).map(([name, { what, cpuUs, rps, p50Ms, p99Ms, failed }]) => {
    const bare = subjects[name.endsWith('Browser') ? 'httpBrowser' : 'http']?.cpuUs.median ?? NaN
    return [what, short(cpuUs.median), short(cpuUs.median / bare), short(rps.median), short(p50Ms.median), short(p99Ms.median), failed] // prettier-ignore
  })
  const { cores } = arena
  return makeReport({
    kind: 'bench',
    name: 'peers',
    title: 'QuickLink beside others that answer one link, each on the same core, by the same generator with 64 connections.',
    checks: [],
    doubts: [...machine(), ...doubtsOfSpeed(bareOf(subjects))],
    tables: [{ title: 'Peers', head: ['who', 'CPU µs/request', '÷ bare `node:http`', 'requests/s', 'p50 ms', 'p99 ms', 'failed'], rows }],
    environment: {
      pinned: cores ? `server ${cores.server}, generator ${cores.generator}` : 'no',
      'load before': Number(before),
      seconds,
      repetitions,
      nginx: versionOf('nginx'),
      haproxy: versionOf('haproxy'),
      redis: (await redisProgram()).version,
    },
  })
} // prettier-ignore

if (import.meta.main)
  await command(async () => {
    const { env } = process
    const [seconds, repetitions] = [
      numberOf(env, 'SECONDS', secondsRange) ?? 3,
      numberOf(env, 'REPETITIONS', repetitionsRange) ?? 3,
    ]
    const named = peersIn(env['PEERS'] ?? '')
    await using arena = await openArena()
    const report = await run(arena, named, seconds, repetitions)
    console.log(`\n${markdown(report)}\nThe report: ${writeReport(report)}/report.html`)
    return 0
  })
