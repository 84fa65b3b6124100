// QuickLink beside what it is compared with, in one run.   make bench · BENCH=full make bench · BENCH=profile make bench
// SECONDS, REPETITIONS, LINKS and ONLY=raw,http (names of subjects.ts) or ONLY=visitors make it shorter for a try.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { redisProgram } from '../../embedded/temporary.ts'
import { limits, settings } from '../../server/config.ts'
import { readBuild } from '../../server/telemetry/build.ts'
import { total } from '../measure/ops.ts'
import { countReads } from '../measure/redis-pipe.ts'
import { drawChart } from '../report/chart.ts'
import type { Report } from '../report/report.ts'
import { markdown, writeReport } from '../report/write.ts'
import { hotCode, openArena, profileDir, type Arena } from './arena.ts'
import { measureMemory } from './memory.ts'
import { latencyChart, measureOpenLoop, openLoopCheck, openLoopTable } from './open-loop.ts'
import { versionOf } from './proxies.ts'
import { reportOf } from './report.ts'
import { measureScrape } from './scrape.ts'
import { checkAll, makeSubjects, measure, measureAll, startServers, type Servers, type Subject } from './subjects.ts'
import { targets } from './targets.ts'
import { missingShapes, visitorNames } from './visitors.ts'

const mode = process.env['BENCH'] || 'quick'
const full = mode === 'full'
const seconds = Number(process.env['SECONDS'] || { full: 5, profile: 10 }[mode] || 3)
const repetitions = Number(process.env['REPETITIONS'] || { full: 5, profile: 1 }[mode] || 3)
const only = (process.env['ONLY'] || (mode === 'profile' ? 'raw' : undefined))
  ?.split(',')
  .flatMap((name) => (name === 'visitors' ? visitorNames : [name]))

const say = (line: string): void => console.log(line)

async function environmentOf(arena: Arena): Promise<Report['environment']> {
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

async function hotKeyReads(arena: Arena, raw: Subject): Promise<number> {
  const { result, reads } = await countReads(arena.stand.redis.url, `ql:v1:link:${hotCode}`, async () => {
    const beganMs = performance.now()
    await measure(arena, raw, seconds)
    return (performance.now() - beganMs) / 1000
  })
  return reads / result
}

/** How often the ladder is climbed for a link that nobody can say anything new about. */
async function cutOffLookups(arena: Arena, servers: Servers, subject: Subject): Promise<number> {
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

async function run(arena: Arena): Promise<Report> {
  const environment = await environmentOf(arena)
  say(`Starting the servers. Pinned: ${environment['pinned']}`)
  if (missingShapes > 0)
    say('Without some rows of proxies, which are not installed: apt-get install nginx-light haproxy')
  const servers = await startServers(arena)
  const all = await makeSubjects(arena, servers)
  await checkAll(all)
  const chosen = only === undefined ? all : all.filter(({ name }) => only.includes(name))
  const subjects = await measureAll(arena, chosen, { seconds, repetitions, warmUpS: full ? 2 : 1 }, say)
  const raw = all.find(({ name }) => name === 'raw') as Subject
  const checks = targets({
    subjects,
    tier1Share: await tier1Share(servers),
    cutOffLookupsPerS: await cutOffLookups(arena, servers, all.find(({ name }) => name === 'cutOff') as Subject),
    hotKeyReadsPerS: await hotKeyReads(arena, raw),
  })
  const about = {
    at: new Date().toISOString(),
    commit: `${readBuild().commit}${isDirty() ? '-dirty' : ''}`,
    environment,
  }
  if (!full) return reportOf({ ...about, subjects, checks, tables: [], charts: [] })
  const rates = await measureOpenLoop(arena, all, subjects, say)
  const scrape = await measureScrape(arena)
  // Last: it loads a million links.
  const memory = await measureMemory(arena, servers, raw)
  const tables = [openLoopTable(rates), memory, scrape]
  return reportOf({
    ...about,
    subjects,
    checks: [...checks, openLoopCheck(rates)],
    tables,
    charts: [latencyChart(rates)],
  })
}

function write(report: Report): void {
  say(`\n${markdown(report)}\nThe report: ${writeReport(report)}/report.html`)
  const [chart] = report.charts
  if (chart === undefined) return
  // docs/PERFORMANCE.md quotes and shows the newest full one.
  const results = new URL('../results/', import.meta.url)
  writeFileSync(new URL(`${report.at.slice(0, 10)}-${report.commit}.md`, results), markdown(report))
  writeFileSync(new URL('latency.svg', results), drawChart(chart))
}

const arena = await openArena()
// Sent to this process alone, a signal does not reach the servers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void arena.close().finally(() => process.exit(130)))
}
try {
  write(await run(arena))
  if (mode === 'profile') say(`For DevTools or an editor, of each process: ${profileDir}/*.cpuprofile; the largest is of the worker that had most to do.`) // prettier-ignore
} finally {
  await arena.close()
}
