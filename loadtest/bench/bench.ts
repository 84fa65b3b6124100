// QuickLink beside what it is compared with, in one run.   make bench · BENCH=full make bench · BENCH=profile make bench
// SECONDS, REPETITIONS, LINKS and ONLY=raw,http (names of subjects.ts) or ONLY=visitors make it shorter for a try.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'
import { limits, settings } from '../../server/config.ts'
import { readBuild } from '../../server/telemetry/build.ts'
import { redisProgram } from '../../embedded/temporary.ts'
import { hotCode, openArena, type Arena } from './arena.ts'
import { measureMemory } from './memory.ts'
import { measureOpenLoop } from './open-loop.ts'
import { latencyPlot } from './plot.ts'
import { profile } from './profile.ts'
import { countReads } from '../measure/redis-pipe.ts'
import { versionOf } from './proxies.ts'
import { markdown } from './report.ts'
import type { Result } from './results.ts'
import { measureScrape } from './scrape.ts'
import { checkAll, makeSubjects, measure, measureAll, startServers, type Servers, type Subject } from './subjects.ts'
import { judge } from './targets.ts'
import { missingShapes, visitorNames, visitorRows } from './visitors.ts'

const mode = process.env['BENCH'] || 'quick'
const full = mode === 'full'
const seconds = Number(process.env['SECONDS'] || (full ? 5 : 3))
const repetitions = Number(process.env['REPETITIONS'] || (full ? 5 : 3))
const only = process.env['ONLY']?.split(',').flatMap((name) => (name === 'visitors' ? visitorNames : [name]))

const say = (line: string): void => console.log(line)

async function machineOf(arena: Arena): Promise<Result['machine']> {
  const [postgres] = await arena.stand.sql.query<{ server_version: string }>('show server_version')
  const { cores } = arena
  return {
    CPU: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
    system: `${type()} ${release()}`,
    node: process.versions.node,
    postgres: postgres?.server_version ?? 'unknown',
    redis: (await redisProgram()).version,
    nginx: versionOf('nginx'),
    haproxy: versionOf('haproxy'),
    pinned: cores ? `server ${cores.server}, generator ${cores.generator}, services ${cores.services}` : 'no',
    'load before': Number((loadavg()[0] ?? 0).toFixed(2)),
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
  const before = await servers.cutOff.lookups()
  await measure(arena, subject, seconds)
  return ((await servers.cutOff.lookups()) - before) / seconds
}

async function afterScan(servers: Servers): Promise<Result['tier1Entries']> {
  const workers = await servers.raw.status()
  const held = Math.max(...workers.map(({ status }) => status?.tier1?.entries ?? NaN))
  return { held, bound: Number(settings.localCacheMax.fallback) }
}

async function run(arena: Arena): Promise<Result> {
  const machine = await machineOf(arena)
  say(`Starting the servers. Pinned: ${machine['pinned']}`)
  if (missingShapes > 0)
    say('Without some rows of proxies, which are not installed: apt-get install nginx-light haproxy')
  const servers = await startServers(arena)
  const all = await makeSubjects(arena, servers)
  await checkAll(all)
  const chosen = only === undefined ? all : all.filter(({ name }) => only.includes(name))
  const subjects = await measureAll(arena, chosen, { seconds, repetitions, warmUpS: full ? 2 : 1 }, say)
  const raw = all.find(({ name }) => name === 'raw') as Subject
  const measured = {
    subjects,
    tier1Entries: await afterScan(servers),
    visitors: visitorRows(subjects),
    cutOffLookupsPerS: await cutOffLookups(arena, servers, all.find(({ name }) => name === 'cutOff') as Subject),
    hotKeyReadsPerS: await hotKeyReads(arena, raw),
    openLoop: full ? await measureOpenLoop(arena, all, subjects, say) : [],
  }
  return {
    at: new Date().toISOString(),
    commit: readBuild().commit,
    dirty: isDirty(),
    mode,
    machine,
    config: {
      seconds,
      repetitions,
      connections: 64,
      workers: 1,
      'tier-1 entries': settings.localCacheMax.fallback ?? '',
      'tier-1 life': `${settings.localCacheTtlMs.fallback} ms`,
      'keep-alive': `${limits.keepAliveMs} ms`,
    },
    ...measured,
    targets: judge(measured),
    scrape: full ? await measureScrape(arena, say) : null,
    // Last: it loads a million links.
    memory: full ? await measureMemory(arena, servers, raw, say) : null,
  }
}

function write(result: Result): void {
  const folder = new URL('../results/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  const name = `${result.at.slice(0, 10)}-${result.commit}${result.dirty ? '-dirty' : ''}`
  const text = markdown(result)
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(result, null, 2)}\n`)
  writeFileSync(new URL(`${name}.md`, folder), text)
  // docs/PERFORMANCE.md shows the newest one.
  const hasPlot = result.openLoop.length > 0
  if (hasPlot) writeFileSync(new URL('latency.svg', folder), latencyPlot(result.openLoop))
  say(`\n${text}\nWritten: loadtest/results/${name}.{json,md}${hasPlot ? ', loadtest/results/latency.svg' : ''}`)
}

const arena = await openArena()
// Sent to this process alone, a signal does not reach the servers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void arena.close().finally(() => process.exit(130)))
}
try {
  if (mode === 'profile') await profile(arena, { seconds, scan: only?.includes('scan') === true }, say)
  else write(await run(arena))
} finally {
  await arena.close()
}
