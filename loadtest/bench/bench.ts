// QuickLink beside what it is compared with, in one run.   make bench · BENCH=full make bench · BENCH=profile make bench
// SECONDS, REPETITIONS, LINKS and ONLY=raw,http (names of subjects.ts) or ONLY=visitors make it shorter for a try; with BENCH=full, ONLY leaves
// out memory and scrapes.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { redisProgram } from '../../embedded/temporary.ts'
import { settings } from '../../server/config.ts'
import { limits } from '../../server/limits.ts'
import { readBuild } from '../../server/telemetry/build.ts'
import { total } from '../measure/ops.ts'
import { countReads } from '../measure/redis-pipe.ts'
import { doubtsOfSpeed, watchMachine } from '../measure/machine.ts'
import { picture } from '../report/plot.ts'
import type { Check, Report, Table } from '../report/report.ts'
import { command } from '../report/command.ts'
import { choiceOf, choicesOf, numberOf } from '../report/knobs.ts'
import { markdown, writeReport } from '../report/write.ts'
import { hotCode, openArena, profileDir, type Arena } from './arena.ts'
import { measureMemory } from './memory.ts'
import { latencyCharts, measureOpenLoop, openLoopCheck, openLoopTable } from './open-loop.ts'
import { versionOf } from './proxies.ts'
import { bareOf, doubtsOfCpu, reportOf } from './report.ts'
import { measureScrape } from './scrape.ts'
import {
  checkAll,
  makeSubjects,
  measure,
  measureAll,
  ownNames,
  repetitionsRange,
  secondsRange,
  seenNames,
  startServers,
  type Servers,
  type Subject,
} from './subjects.ts'
import { targets } from './targets.ts'
import { missingShapes, visitorNames } from './visitors.ts'

interface Told {
  readonly mode: 'quick' | 'full' | 'profile'
  readonly seconds: number
  readonly repetitions: number
  readonly only: readonly string[] | undefined
}

function toldBy(env: NodeJS.ProcessEnv): Told {
  const mode = choiceOf(env, 'BENCH', ['quick', 'full', 'profile'], 'quick')
  const [seconds, repetitions] = { quick: [3, 3], full: [5, 5], profile: [10, 1] }[mode] as [number, number]
  const some = choicesOf(env, 'ONLY', ['visitors', ...ownNames, ...visitorNames])
  return {
    mode,
    seconds: numberOf(env, 'SECONDS', secondsRange) ?? seconds,
    repetitions: numberOf(env, 'REPETITIONS', repetitionsRange) ?? repetitions,
    only: some?.flatMap((name) => (name === 'visitors' ? [...seenNames, ...visitorNames] : [name])) ?? (mode === 'profile' ? ['raw'] : undefined),
  }
} // prettier-ignore

const say = (line: string): void => console.log(line)

async function environmentOf(arena: Arena, { seconds, repetitions }: Told): Promise<Report['environment']> {
  const [postgres] = await arena.stand.sql.query<{ server_version: string }>('show server_version')
  const { cores } = arena
  return {
    postgres: postgres?.server_version ?? 'unknown',
    redis: (await redisProgram()).version,
    nginx: versionOf('nginx'),
    haproxy: versionOf('haproxy'),
    pinned: cores ? `server ${cores.server}, generator ${cores.generator}, services ${cores.services}` : 'no',
    'load before': Number((loadavg()[0] ?? 0).toFixed(2)),
    seconds,
    repetitions,
    connections: 64,
    workers: 1,
    'tier-1 entries': settings.localCacheMax.fallback ?? '',
    'tier-1 life': `${settings.localCacheTtlMs.fallback} ms`,
    'keep-alive': `${limits.keepAliveMs} ms`,
  }
}

function isDirty(): boolean {
  try {
    return execFileSync('git', ['status', '--porcelain', '--', 'server', 'loadtest/bench'], { encoding: 'utf8' }) !== ''
  } catch {
    return false
  }
}

async function hotKeyReads(arena: Arena, raw: Subject, seconds: number): Promise<number> {
  const { result, reads } = await countReads(arena.stand.redis.url, `ql:v1:link:${hotCode}`, async () => {
    const beganMs = performance.now()
    await measure(arena, raw, seconds)
    return (performance.now() - beganMs) / 1000
  })
  return reads / result
}

/** How often the ladder is climbed for a link that nobody can say anything new about. */
async function cutOffLookups(arena: Arena, servers: Servers, subject: Subject, seconds: number): Promise<number> {
  const lookups = async (): Promise<number> => total(await servers.cutOff.metrics(), 'quicklink_lookups_total')
  const before = await lookups()
  await measure(arena, subject, seconds)
  return ((await lookups()) - before) / seconds
}

/** After the scan, of its bound. */
async function tier1Share(servers: Servers): Promise<number> {
  const held = (await servers.raw.status()).map((worker) => worker?.tier1.entries ?? NaN)
  return Math.max(...held) / Number(settings.localCacheMax.fallback)
}

/** Of all that is measured once, and not of what is chosen. */
async function theRest(arena: Arena, servers: Servers, raw: Subject): Promise<Table[]> {
  const scrape = await measureScrape(arena)
  // Last: it loads a million links.
  return [await measureMemory(arena, servers, raw), scrape]
}

async function run(arena: Arena, told: Told): Promise<Report> {
  const { seconds, repetitions, only } = told
  const full = told.mode === 'full'
  const environment = await environmentOf(arena, told)
  const machine = watchMachine()
  say(`Starting the servers. Pinned: ${environment['pinned']}`)
  if (missingShapes > 0)
    say('Without some rows of proxies, which are not installed: apt-get install nginx-light haproxy')
  const servers = await startServers(arena)
  const all = await makeSubjects(arena, servers)
  await checkAll(all)
  const chosen = only === undefined ? all : all.filter(({ name }) => only.includes(name))
  const subjects = await measureAll(arena, chosen, { seconds, repetitions, warmUpS: full ? 2 : 1 }, say)
  const raw = all.find(({ name }) => name === 'raw') as Subject
  const cutOff = all.find(({ name }) => name === 'cutOff') as Subject
  const checks = targets({
    subjects,
    tier1Share: await tier1Share(servers),
    cutOffLookupsPerS: await cutOffLookups(arena, servers, cutOff, seconds),
    hotKeyReadsPerS: await hotKeyReads(arena, raw, seconds),
  })
  const about = {
    at: new Date().toISOString(),
    commit: `${readBuild().commit}${isDirty() ? '-dirty' : ''}`,
    environment,
    subjects,
  }
  const doubts = (kept: readonly Check[]): string[] => [...machine(), ...doubtsOfSpeed(bareOf(subjects)), ...doubtsOfCpu(kept)]
  if (!full) return reportOf({ ...about, checks, doubts: doubts(checks), tables: [], charts: [] })
  const rates = await measureOpenLoop(arena, all, subjects, say)
  const tables = [openLoopTable(rates), ...(only === undefined ? await theRest(arena, servers, raw) : [])]
  const allChecks = [...checks, openLoopCheck(rates)]
  return reportOf({ ...about, checks: allChecks, doubts: doubts(allChecks), tables, charts: latencyCharts(rates) })
} // prettier-ignore

function write(report: Report): void {
  say(`\n${markdown(report)}\nThe report: ${writeReport(report)}/report.html`)
  if (report.charts.length === 0) return
  // docs/PERFORMANCE.md quotes and shows the newest full one.
  const results = new URL('../results/', import.meta.url)
  writeFileSync(new URL(`${report.at.slice(0, 10)}-${report.commit}.md`, results), markdown(report))
  writeFileSync(new URL('latency.svg', results), picture(...report.charts.map((chart) => ({ charts: [chart] }))))
}

/** What costs more than it should is said, and no failure: that is for bench-guard to say, which looks twice. */
await command(async () => {
  const told = toldBy(process.env)
  await using arena = await openArena()
  write(await run(arena, told))
  if (told.mode === 'profile') say(`For DevTools or an editor, of each process: ${profileDir}/*.cpuprofile; the largest is of the worker that had most to do.`) // prettier-ignore
  return 0
})
