// Who runs, what is asked of it, and how a run is measured.
import { hot, linkCount, loadLinks, trusted, warmCount, warmRedis, type Arena, type Contestant } from './arena.ts'
import { checkAnswers } from './check-answers.ts'
import { cpuSeconds } from '../measure/cpu.ts'
import { drive, type Driven } from './driver.ts'
import { browserHeaders, type Load } from './loads.ts'
import type { SubjectResult } from './results.ts'
import type { FaultProxy } from '../faults/fault-proxy.ts'
import { spreadOf } from '../measure/stats.ts'
import type { BenchServer } from './stand.ts'
import { floorOf, shapes, type Shape } from './visitors.ts'

export interface Subject {
  readonly name: string
  readonly what: string
  readonly server: Contestant
  readonly load: Load
  /** Two generators, on all cores. */
  readonly spread?: boolean
  /** What has to be so while it is measured. */
  readonly around?: <T>(measure: () => Promise<T>) => Promise<T>
}

export interface Run extends Driven {
  readonly cpuUs: number
  readonly rps: number
}

/** Whom visitors of any shape come to. */
interface Visited {
  /** As it comes. */
  readonly raw: BenchServer
  /** A tier 1 that holds all of what most visitors ask for; a proxy may stand before it. */
  readonly visitors: BenchServer
  /** Without Redis, and with a Postgres that can be cut off. */
  readonly cutOff: BenchServer
  readonly cut: FaultProxy
}

export interface Servers extends Visited {
  readonly http: BenchServer
  readonly noRedis: BenchServer
  readonly two: BenchServer
}

const hotByBrowser: Load = { ...hot, headers: browserHeaders }

export async function startServers(arena: Arena): Promise<Servers> {
  const { stand, cores } = arena
  const REDIS_URL = stand.redis.url
  // It makes the tables; a Redis that sees the links only now has no news of them to work off.
  const noRedis = await arena.quickLink({})
  await loadLinks(stand)
  const visited = await startVisited(arena)
  await warmRedis(stand)
  const http = await arena.quickLink({ REDIS_URL, FRONT_DOOR: 'http' })
  const two = await arena.quickLink({ REDIS_URL, WORKERS: '2' }, cores?.all)
  await Promise.all([http, two].map(trusted))
  return { ...visited, http, noRedis, two }
}

/** When there are links. */
export async function startVisited(arena: Arena): Promise<Visited> {
  const REDIS_URL = arena.stand.redis.url
  const raw = await arena.quickLink({ REDIS_URL })
  const visitors = await arena.quickLink({ REDIS_URL, LOCAL_CACHE_MAX: '10000', TRUST_PROXY: 'loopback' })
  await Promise.all([raw, visitors].map(trusted))
  const { cut, url } = await arena.proxiedPostgres()
  const cutOff = await arena.quickLink({ DATABASE_URL: url })
  return { raw, visitors, cutOff, cut }
}

export async function makeSubjects(arena: Arena, servers: Servers): Promise<Subject[]> {
  const { raw, http, noRedis, two } = servers
  const net = await arena.peer('net')
  const bare = await arena.peer('http')
  const express = await arena.peer('express')
  const handler = await arena.peer('handler')
  const seen = await visits(arena, shapes, servers, bare, { net, netClose: await arena.peer('netClose') })
  const uniform = (count: number): Load => ({
    paths: { kind: 'uniform', prefix: 'link-', count },
    headers: [],
    status: 302,
  })
  const create: Load = {
    paths: { kind: 'one', path: '/api/v1/links' },
    headers: [['Authorization', `Bearer ${arena.key}`]],
    body: JSON.stringify({ url: 'https://example.org/a/page/of/usual/length?from=quicklink' }),
    status: 201,
  }
  return [
    { name: 'net', what: 'raw `net` responder (the floor)', server: net, load: hot },
    { name: 'http', what: 'bare `node:http`', server: bare, load: hot },
    { name: 'raw', what: 'QuickLink, tier-1 hit, front door', server: raw, load: hot },
    { name: 'frontHttp', what: 'QuickLink, tier-1 hit, `FRONT_DOOR=http`', server: http, load: hot },
    { name: 'netBrowser', what: "raw `net`, a browser's headers", server: net, load: hotByBrowser },
    { name: 'httpBrowser', what: "bare `node:http`, a browser's headers", server: bare, load: hotByBrowser },
    { name: 'rawBrowser', what: "QuickLink, front door, a browser's headers", server: raw, load: hotByBrowser },
    { name: 'frontHttpBrowser', what: "QuickLink, `FRONT_DOOR=http`, a browser's headers", server: http, load: hotByBrowser },
    { name: 'express', what: 'bare Express', server: express, load: hot },
    { name: 'handler', what: "QuickLink's handler behind Express, no look-up before it", server: handler, load: hot },
    { name: 'tier2', what: `QuickLink, tier-2 hit, uniform over ${warmCount} codes`, server: raw, load: uniform(warmCount) },
    { name: 'tier3', what: `QuickLink, Redis off, uniform over ${linkCount} codes`, server: noRedis, load: uniform(linkCount) },
    { name: 'scan', what: 'QuickLink, distinct absent codes (404)', server: raw, load: { paths: { kind: 'distinct', prefix: 'no-' }, headers: [], status: 404 } },
    { name: 'create', what: 'QuickLink, create a link (API)', server: raw, load: create },
    { name: 'two', what: 'QuickLink, tier-1 hit, front door, 2 workers', server: two, load: hot, spread: true },
    ...seen.flatMap(({ ours, http: beside, net: floor }) => [ours, beside, ...(floor ? [floor] : [])]),
  ] // prettier-ignore
}

/** A shape of request, as QuickLink and its floors are asked it. */
export interface Visit {
  readonly shape: Shape
  readonly ours: Subject
  readonly http: Subject
  /** Not behind a proxy, which does not ask all that it is asked. */
  readonly net: Subject | undefined
}

export async function visits(
  arena: Arena,
  some: readonly Shape[],
  servers: Visited,
  bare: Contestant,
  floors?: { net: Contestant; netClose: Contestant },
): Promise<Visit[]> {
  const { cut } = servers
  const away: Subject['around'] = async (measure) => {
    await cut.refuse()
    return measure().finally(() => cut.pass())
  }
  const made: Visit[] = []
  for (const shape of some) {
    const { name, what, load, server = 'visitors', proxy } = shape
    const reach = (contestant: Contestant): Promise<Contestant> | Contestant =>
      proxy === undefined ? contestant : arena.behind(proxy, contestant)
    const net = proxy === undefined ? floors?.[load.closes ? 'netClose' : 'net'] : undefined
    made.push({
      shape,
      ours: { name, what: `QuickLink: ${what}`, server: await reach(servers[server]), load, ...(server === 'cutOff' ? { around: away } : {}) },
      http: { name: floorOf('http', shape), what: `bare \`node:http\`: ${what}`, server: await reach(bare), load },
      net: net && { name: floorOf('net', shape), what: `bare socket: ${what}`, server: net, load },
    }) // prettier-ignore
  }
  return made
}

export async function checkAll(subjects: readonly Subject[]): Promise<void> {
  for (const { name, server, load } of subjects) {
    await checkAnswers(server.url, load).catch((error: unknown) => {
      throw new Error(`${name} was not answered as it should be`, { cause: error })
    })
  }
}

export async function measure(arena: Arena, { server, load, spread, around }: Subject, seconds: number): Promise<Run> {
  const once = async (): Promise<Run> => {
    const beforeS = cpuSeconds(server.pid)
    const driven = await drive({
      url: server.url,
      load,
      seconds,
      connections: 64,
      processes: spread ? 2 : 1,
      cores: spread ? arena.cores?.all : arena.cores?.generator,
    })
    const cpuS = cpuSeconds(server.pid) - beforeS
    return { ...driven, cpuUs: (cpuS * 1e6) / driven.requests, rps: driven.requests / driven.seconds }
  }
  return around === undefined ? once() : around(once)
}

export function summarise(what: string, runs: readonly Run[]): SubjectResult {
  const of = (pick: (run: Run) => number) => spreadOf(runs.map(pick))
  const sum = (pick: (run: Run) => number): number => runs.reduce((total, run) => total + pick(run), 0)
  return {
    what,
    cpuUs: of(({ cpuUs }) => cpuUs),
    rps: of(({ rps }) => rps),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    p999Ms: of(({ p999Ms }) => p999Ms),
    requests: sum(({ requests }) => requests),
    failed: sum(({ failed }) => failed),
  }
}

/** All of them in turn, again and again: what changes on the machine meanwhile changes it for all. */
export async function measureAll(
  arena: Arena,
  subjects: readonly Subject[],
  { seconds, repetitions, warmUpS }: { seconds: number; repetitions: number; warmUpS: number },
  say: (line: string) => void,
): Promise<Record<string, SubjectResult>> {
  for (const subject of subjects) await measure(arena, subject, warmUpS)
  const runs = new Map<string, Run[]>(subjects.map(({ name }) => [name, []]))
  for (let n = 1; n <= repetitions; n++) {
    for (const subject of subjects) {
      const run = await measure(arena, subject, seconds)
      runs.get(subject.name)?.push(run)
      const figures = `${run.cpuUs.toFixed(2).padStart(8)} µs  ${run.rps.toFixed(0).padStart(7)}/s`
      say(`${n}/${repetitions} ${figures}  ${subject.what}${run.failed > 0 ? `  (${run.failed} failed)` : ''}`)
    }
  }
  return Object.fromEntries(subjects.map(({ name, what }) => [name, summarise(what, runs.get(name) ?? [])]))
}
