// How long /metrics stops the workers that it is asked of.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { hotCode, linkCount, type Arena } from './arena.ts'
import { ask } from '../../embedded/ask.ts'
import { stallsText } from './report.ts'
import { spreadOf } from '../measure/stats.ts'
import { stallBoundMs, type Scrape, type StallSummary } from './results.ts'
import type { Stall } from './stall-probe.ts'
import { familyPids } from '../measure/cpu.ts'
import { waitFor } from '../../embedded/wait.ts'

const workers = 8
const rounds = 50
/** Of each worker, beside its own: 10,000 on the page. */
const moreSamples = 1_200

export async function measureScrape(arena: Arena, say: (line: string) => void): Promise<Scrape> {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-bench-'))
  const probe = new URL('stall-probe.ts', import.meta.url).href
  const env = {
    WORKERS: String(workers),
    NODE_OPTIONS: `--import ${probe}`,
    QL_STALL_DIR: dir,
    QL_MORE_SAMPLES: String(moreSamples),
  }
  // No Redis: its passes are not what is measured.
  const server = await arena.quickLink(env, arena.cores?.all)
  try {
    for (let n = 0; n < 200; n++) await ask(server.url, n % 2 === 0 ? `/${hotCode}` : `/link-${n % linkCount}`)
    const scrape = async (): Promise<string> => (await ask(server.opsUrl, '/metrics')).text
    const samples = (await scrape()).split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
    const worstIn = async (work: () => Promise<unknown>): Promise<Stall> => {
      await stalls(server.pid, dir)
      await work()
      return worst(await stalls(server.pid, dir))
    }
    const quiet: Stall[] = []
    const scraped: Stall[] = []
    for (let n = 0; n < rounds; n++) {
      const beganMs = performance.now()
      scraped.push(await worstIn(scrape))
      const tookMs = performance.now() - beganMs
      quiet.push(await worstIn(() => pause(tookMs)))
    }
    const result = { workers, samples, rounds, quiet: summary(quiet), scraped: summary(scraped) }
    say(`/metrics: ${samples} samples; stalls: ${stallsText(result)}`)
    return result
  } finally {
    await server.stop()
    rmSync(dir, { recursive: true })
  }
}

const worst = (all: readonly Stall[]): Stall => ({
  ms: Math.max(...all.map(({ ms }) => ms)),
  ownMs: Math.max(...all.map(({ ownMs }) => ownMs)),
})

const summary = (all: readonly Stall[]): StallSummary => ({
  all: overRounds(all.map(({ ms }) => ms)),
  own: overRounds(all.map(({ ownMs }) => ownMs)),
})

const overRounds = (ms: readonly number[]): StallSummary['all'] => ({
  usualMs: spreadOf(ms).median,
  worstMs: Math.max(...ms),
  over: ms.filter((one) => one > stallBoundMs).length,
})

/** Of each worker since the last time. */
async function stalls(pid: number, dir: string): Promise<Stall[]> {
  const pids = familyPids(pid).slice(1)
  for (const worker of pids) rmSync(join(dir, String(worker)), { force: true })
  for (const worker of pids) process.kill(worker, 'SIGUSR2')
  return waitFor(() => pids.map((worker) => JSON.parse(readFileSync(join(dir, String(worker)), 'utf8')) as Stall))
}
