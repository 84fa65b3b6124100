// How long /metrics stops the workers that it is asked of.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { hotCode, linkCount, type Arena } from './arena.ts'
import { ask } from './ask.ts'
import { familyPids } from '../measure/cpu.ts'
import type { Result } from './results.ts'

const workers = 8
const rounds = 30
/** Of each worker, beside its own: 10,000 on the page. */
const moreSamples = 1_200

export async function measureScrape(arena: Arena, say: (line: string) => void): Promise<Result['scrape']> {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-bench-'))
  const file = join(dir, 'stalls')
  const probe = new URL('stall-probe.ts', import.meta.url).href
  const env = {
    WORKERS: String(workers),
    NODE_OPTIONS: `--import ${probe}`,
    QL_STALL_FILE: file,
    QL_MORE_SAMPLES: String(moreSamples),
  }
  // No Redis: its passes are not what is measured.
  const server = await arena.quickLink(env, arena.cores?.all)
  try {
    for (let n = 0; n < 200; n++) await ask(server.url, n % 2 === 0 ? `/${hotCode}` : `/link-${n % linkCount}`)
    const scrape = async (): Promise<string> => (await ask(server.opsUrl, '/metrics')).text
    const samples = (await scrape()).split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
    const longest = async (work: () => Promise<unknown>): Promise<number> => {
      await stalls(server.pid, file)
      for (let n = 0; n < rounds; n++) {
        await work()
        await pause(100)
      }
      return Math.max(...(await stalls(server.pid, file)))
    }
    const quietMs = await longest(() => Promise.resolve())
    const scrapedMs = await longest(scrape)
    say(`/metrics: ${samples} samples, stalls of ${scrapedMs.toFixed(1)} ms, without it ${quietMs.toFixed(1)} ms`)
    return { workers, samples, quietMs, scrapedMs }
  } finally {
    await server.stop()
    rmSync(dir, { recursive: true })
  }
}

/** Of each worker since the last time, in milliseconds. */
async function stalls(pid: number, file: string): Promise<number[]> {
  rmSync(file, { force: true })
  for (const worker of familyPids(pid).slice(1)) process.kill(worker, 'SIGUSR2')
  await pause(200)
  return readFileSync(file, 'utf8').trim().split('\n').map((line) => Number(line.split(' ')[1])) // prettier-ignore
}
