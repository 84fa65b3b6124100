// How long /metrics stops the workers that it is asked of.
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import { spreadOf } from '../measure/stats.ts'
import type { Table } from '../report/report.ts'
import { short } from '../report/text.ts'
import { hotCode, linkCount, type Arena } from './arena.ts'
import { withProbe, type Probed } from './probe.ts'

const workers = 8
const rounds = 50
/** Of each worker, beside its own: 10,000 on the page. */
const moreSamples = 1_200
/** A scrape should not stall a worker for longer. */
const stallBoundMs = 5

export async function measureScrape(arena: Arena): Promise<Table> {
  // No Redis: its passes are not what is measured.
  const env = { WORKERS: String(workers), QL_MORE_SAMPLES: String(moreSamples) }
  return withProbe(arena, env, async (server, probe) => {
    for (let n = 0; n < 200; n++) await ask(server.url, n % 2 === 0 ? `/${hotCode}` : `/link-${n % linkCount}`)
    const scrape = async (): Promise<string> => (await ask(server.opsUrl, '/metrics')).text
    const samples = (await scrape()).split('\n').filter((line) => line !== '' && !line.startsWith('#')).length
    const worstIn = async (work: () => Promise<unknown>): Promise<Pick<Probed, 'ms' | 'ownMs'>> => {
      await probe()
      await work()
      const all = await probe()
      return { ms: Math.max(...all.map(({ ms }) => ms)), ownMs: Math.max(...all.map(({ ownMs }) => ownMs)) }
    }
    const scraped: Awaited<ReturnType<typeof worstIn>>[] = []
    const quiet: typeof scraped = []
    for (let n = 0; n < rounds; n++) {
      const beganMs = performance.now()
      scraped.push(await worstIn(scrape))
      const tookMs = performance.now() - beganMs
      quiet.push(await worstIn(() => pause(tookMs)))
    }
    return {
      title: '/metrics',
      note: `The worst stall of any worker's event loop: ${workers} workers, ${samples} samples, ${rounds} scrapes and as many rounds without.`,
      head: ['stall', 'usually', 'at worst', `above ${stallBoundMs} ms`],
      rows: [
        // On few cores, a worker waits while another process has its core; only its own work is of QuickLink's making.
        row("a worker's own work in it", scraped.map(({ ownMs }) => ownMs)),
        row('with its waiting for a core', scraped.map(({ ms }) => ms)),
        row('the same without a scrape', quiet.map(({ ms }) => ms)),
      ],
    }
  })
} // prettier-ignore

function row(what: string, ms: readonly number[]): string[] {
  const { median, max } = spreadOf(ms)
  return [
    what,
    `${short(median)} ms`,
    `${short(max)} ms`,
    `${ms.filter((one) => one > stallBoundMs).length} of ${ms.length}`,
  ]
}
