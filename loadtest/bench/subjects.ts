// Who runs, what is asked of it, and how a run is measured.
import { hot, linkCount, loadLinks, trusted, warmCount, warmRedis, type Arena, type Contestant } from './arena.ts'
import { checkAnswers } from './check-answers.ts'
import { cpuSeconds } from '../measure/cpu.ts'
import { drive, type Driven } from './driver.ts'
import { browserHeaders, type Load } from './loads.ts'
import { spreadOf, type Spread } from '../measure/stats.ts'
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

/** What a person may ask for. */
export const secondsRange = { from: 0.1, to: 600, unit: 'seconds', fraction: true }
export const repetitionsRange = { from: 1, to: 100 }

export interface Run {
  readonly requests: number
  readonly failed: number
  readonly cpuUs: number
  readonly rps: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

/** Of all repetitions. */
export type SubjectResult = Readonly<Record<Exclude<keyof Run, 'requests' | 'failed'>, Spread>> & {
  readonly what: string
  readonly requests: number
  readonly failed: number
}

export type Servers = Awaited<ReturnType<typeof startServers>>
type Visited = Awaited<ReturnType<typeof startVisited>>

const hotByBrowser: Load = { ...hot, headers: browserHeaders }

export async function startServers(arena: Arena) {
  const { stand, cores } = arena
  const REDIS_URL = stand.redis.url
  // It makes the tables; a Redis that sees the links only now has no news of them to work off.
  const noRedis = await arena.quickLink({})
  await loadLinks(stand)
  const visited = await startVisited(arena)
  await warmRedis(stand)
  const http = await arena.quickLink({ REDIS_URL, FRONT_DOOR: 'http' })
  const two = await arena.quickLink({ REDIS_URL, WORKERS: '2' }, cores?.all)
  /** Nobody looks at visits. */
  const rawUnseen = await arena.quickLink({ REDIS_URL, VISITS: 'off' })
  const httpUnseen = await arena.quickLink({ REDIS_URL, VISITS: 'off', FRONT_DOOR: 'http' })
  await Promise.all([http, two, rawUnseen, httpUnseen].map(trusted))
  return { ...visited, http, noRedis, two, rawUnseen, httpUnseen }
}

/** Whom visitors of any shape come to, when there are links. */
export async function startVisited(arena: Arena) {
  const REDIS_URL = arena.stand.redis.url
  /** As it comes. */
  const raw = await arena.quickLink({ REDIS_URL })
  /**
   * A tier 1 that holds all of what most visitors ask for; a proxy may stand before it. What a redirect costs is asked of it: so many
   * visits a second are looked at however many come, so those are measured by themselves (visits.ts).
   */
  const env = { LOCAL_CACHE_MAX: '10000', TRUST_PROXY: 'loopback', VISITS: 'off' }
  const visitors = await arena.quickLink({ REDIS_URL, ...env })
  await Promise.all([raw, visitors].map(trusted))
  /** Without Redis, and with a Postgres that can be cut off. */
  const { cut, url } = await arena.proxiedPostgres()
  const cutOff = await arena.quickLink({ DATABASE_URL: url })
  return { raw, visitors, cutOff, cut }
}

export async function makeSubjects(arena: Arena, servers: Servers): Promise<Subject[]> {
  const { raw, http, noRedis, two, rawUnseen, httpUnseen } = servers
  const net = await arena.peer('net')
  const bare = await arena.peer('http')
  const seen = await visits(arena, shapes, servers, { http: bare, net, netClose: await arena.peer('netClose') })
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
  const own: Readonly<Record<OwnName, Omit<Subject, 'name'>>> = {
    net: { what: 'raw `net` responder (the floor)', server: net, load: hot },
    http: { what: 'bare `node:http`', server: bare, load: hot },
    raw: { what: 'QuickLink, tier-1 hit, front door', server: raw, load: hot },
    frontHttp: { what: 'QuickLink, tier-1 hit, `FRONT_DOOR=http`', server: http, load: hot },
    netBrowser: { what: "raw `net`, a browser's headers", server: net, load: hotByBrowser },
    httpBrowser: { what: "bare `node:http`, a browser's headers", server: bare, load: hotByBrowser },
    rawBrowser: { what: "QuickLink, front door, a browser's headers", server: raw, load: hotByBrowser },
    rawUnseen: { what: 'the same with `VISITS=off`', server: rawUnseen, load: hotByBrowser },
    frontHttpBrowser: { what: "QuickLink, `FRONT_DOOR=http`, a browser's headers", server: http, load: hotByBrowser },
    frontHttpUnseen: { what: 'the same with `VISITS=off`', server: httpUnseen, load: hotByBrowser },
    tier2: { what: `QuickLink, tier-2 hit, uniform over ${warmCount} codes`, server: raw, load: uniform(warmCount) },
    tier3: { what: `QuickLink, Redis off, uniform over ${linkCount} codes`, server: noRedis, load: uniform(linkCount) },
    scan: { what: 'QuickLink, distinct absent codes (404)', server: raw, load: { paths: { kind: 'distinct', prefix: 'no-' }, headers: [], status: 404 } },
    create: { what: 'QuickLink, create a link (API)', server: raw, load: create },
    two: { what: 'QuickLink, tier-1 hit, front door, 2 workers', server: two, load: hot, spread: true },
  }
  return [...ownNames.map((name) => ({ name, ...own[name] })), ...seen]
} // prettier-ignore

/** In the order in which they are measured. */
export const ownNames = ['net', 'http', 'raw', 'frontHttp', 'netBrowser', 'httpBrowser', 'rawBrowser', 'rawUnseen', 'frontHttpBrowser', 'frontHttpUnseen', 'tier2', 'tier3', 'scan', 'create', 'two'] as const // prettier-ignore
/** What visits cost a hot link, by either door. */
export const seenNames = ['rawBrowser', 'rawUnseen', 'frontHttpBrowser', 'frontHttpUnseen'] as const
type OwnName = (typeof ownNames)[number]

/** Each shape of request, as QuickLink is asked it and its floors are: no bare socket behind a proxy, which does not ask all that it is asked. */
export async function visits(
  arena: Arena,
  some: readonly Shape[],
  servers: Visited,
  floors: { http: Contestant; net?: Contestant; netClose?: Contestant },
): Promise<Subject[]> {
  const { cut } = servers
  const away: Subject['around'] = async (measure) => {
    await cut.refuse()
    return measure().finally(() => cut.pass())
  }
  const made: Subject[] = []
  for (const shape of some) {
    const { name, what, load, server = 'visitors', proxy } = shape
    const reach = (contestant: Contestant): Promise<Contestant> | Contestant =>
      proxy === undefined ? contestant : arena.behind(proxy, contestant)
    const net = proxy === undefined ? floors[load.closes ? 'netClose' : 'net'] : undefined
    made.push(
      { name, what: `QuickLink: ${what}`, server: await reach(servers[server]), load, ...(server === 'cutOff' ? { around: away } : {}) },
      { name: floorOf('http', shape), what: `bare \`node:http\`: ${what}`, server: await reach(floors.http), load },
      ...(net === undefined ? [] : [{ name: floorOf('net', shape), what: `bare socket: ${what}`, server: net, load }]),
    ) // prettier-ignore
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
    const order = {
      servers: [{ url: server.url, load }],
      connections: spread ? 32 : 64,
      slices: 1,
      sliceMs: seconds * 1000,
    }
    const cores = spread ? arena.cores?.all : arena.cores?.generator
    const all = await Promise.all(Array.from({ length: spread ? 2 : 1 }, () => drive(order, cores)))
    const cpuS = cpuSeconds(server.pid) - beforeS
    const driven = all.flatMap(({ servers }) => servers)
    const sum = (of: (one: Driven) => number): number => driven.reduce((total, one) => total + of(one), 0)
    // Of several generators: sums, and the worst latencies.
    const worst = (of: (one: Driven) => number): number => Math.max(...driven.map(of))
    const requests = sum(({ requests }) => requests)
    return {
      requests,
      failed: sum(({ failed }) => failed),
      cpuUs: (cpuS * 1e6) / requests,
      rps: requests / worst(({ seconds }) => seconds),
      p50Ms: worst(({ p50Ms }) => p50Ms),
      p99Ms: worst(({ p99Ms }) => p99Ms),
      p999Ms: worst(({ p999Ms }) => p999Ms),
    }
  }
  return around === undefined ? once() : around(once)
}

function summarise(what: string, runs: readonly Run[]): SubjectResult {
  const of = (pick: (run: Run) => number) => spreadOf(runs.map(pick))
  return {
    what,
    cpuUs: of(({ cpuUs }) => cpuUs),
    rps: of(({ rps }) => rps),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    p999Ms: of(({ p999Ms }) => p999Ms),
    requests: runs.reduce((sum, { requests }) => sum + requests, 0),
    failed: runs.reduce((sum, { failed }) => sum + failed, 0),
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
