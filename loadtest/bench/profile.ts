// BENCH=profile: where the time of a tier-1 hit goes, by functions; with ONLY=scan, of an absent code.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hot, loadLinks, trusted, type Arena } from './arena.ts'
import { selfTimes, type CpuProfile } from './cpu-profile.ts'
import type { Load } from './loads.ts'
import { measure } from './subjects.ts'

const shown = 25
const absent: Load = { paths: { kind: 'distinct', prefix: 'no-' }, headers: [], status: 404 }

export async function profile(
  arena: Arena,
  { seconds, scan }: { seconds: number; scan: boolean },
  say: (line: string) => void,
) {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-bench-'))
  try {
    const first = await arena.quickLink({})
    await loadLinks(arena.stand, 1000)
    await first.stop()
    const env = { REDIS_URL: arena.stand.redis.url, NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${dir}` }
    const server = await arena.quickLink({ ...env, FRONT_DOOR: process.env['FRONT_DOOR'] || 'raw' })
    await trusted(server)
    const subject = { name: 'raw', what: 'as told', server, load: scan ? absent : hot }
    // Long enough for the start-up to be a small part.
    const run = await measure(arena, subject, Math.max(seconds, 10))
    say(`${run.cpuUs.toFixed(2)} µs of CPU per request, profiler included; by self time, start-up included:\n`)
    await server.stop()
    // The worker's is by far the largest: the primary only waits.
    const [largest = ''] = readdirSync(dir).sort((a, b) => statSync(join(dir, b)).size - statSync(join(dir, a)).size)
    const times = selfTimes(JSON.parse(readFileSync(join(dir, largest), 'utf8')) as CpuProfile)
    for (const { name, share } of times.slice(0, shown)) say(`${(100 * share).toFixed(1).padStart(5)} %  ${name}`)
  } finally {
    rmSync(dir, { recursive: true })
  }
}
