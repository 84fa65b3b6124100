// The highest rate that keeps its promises: doubled until one is broken, halved in between, and the answer confirmed by a
// longer run. Open loop, so that a server which cannot keep up is seen to be late.
import { judge, loadBeside, type Check, type Report } from '../report/report.ts'
import { short } from '../report/text.ts'
import { checksOf, doubtsOf } from './judge.ts'
import { momentsOf, promisedPhases, type Measured } from './measured.ts'
import type { Say } from './progress.ts'
import { underLoad, withLinks, type Order } from './run.ts'
import { cores, coresUsed, growth } from './sampler.ts'
import { scenarios } from './scenarios.ts'
import { reportOf } from './summary.ts'

const probe = { fromRate: 1000, seconds: 5, steps: 4, confirmS: 15, mostRate: 64_000 }

interface Tried {
  readonly rate: number
  readonly kept: boolean
  readonly why: string
  readonly measured: Measured
}

export async function findCapacity(order: Order, say: Say): Promise<Report> {
  const name = 'steady'
  const before = loadBeside()
  say(
    `It doubles the rate from ${short(probe.fromRate)}/s on, ${probe.seconds} s each, halves it in between, and confirms what it found for ${probe.confirmS} s: two to five minutes.`,
  )
  return withLinks(order, order.links, say, async (dataset) => {
    const tries: Tried[] = []
    const tryRate = async (rate: number, seconds: number): Promise<Tried> => {
      const settings = { ...order.settings, RATE: String(rate), SECONDS: String(seconds) }
      const measured = await underLoad({ ...order, name, settings }, scenarios[name]!, dataset, () => undefined)
      const tried = { rate, measured, ...verdictOf(measured) }
      say(`${String(rate).padStart(6)}/s  ${tried.kept ? 'kept' : tried.why}`)
      tries.push(tried)
      return tried
    }
    // One stall of the machine is not the end of a server: a rate is too much when it was so twice.
    const twice: typeof tryRate = async (rate, seconds) => {
      const once = await tryRate(rate, seconds)
      return once.kept ? once : tryRate(rate, seconds)
    }
    const best = await search(twice)
    const report = capacityReport(order, dataset.links, tries, best)
    return { ...report, environment: { ...before, ...report.environment } }
  })
}

async function search(tryRate: (rate: number, seconds: number) => Promise<Tried>): Promise<Tried | undefined> {
  let [low, high] = [0, probe.fromRate]
  while (high <= probe.mostRate && (await tryRate(high, probe.seconds)).kept) [low, high] = [high, high * 2]
  for (let n = 0; n < probe.steps && high - low > low / 20; n++) {
    const rate = Math.round((low + high) / 200) * 100
    if ((await tryRate(rate, probe.seconds)).kept) low = rate
    else high = rate
  }
  // A short run may have been lucky.
  for (let rate = low; rate >= 100; rate = Math.round(rate * 0.9)) {
    const confirmed = await tryRate(rate, probe.confirmS)
    if (confirmed.kept) return confirmed
  }
  return undefined
}

function verdictOf(measured: Measured): { kept: boolean; why: string } {
  const { checks } = checksOf(measured.thresholds, measured.plan.phases)
  const { verdict, reasons } = judge(checks, doubtsOf(measured))
  return { kept: verdict === 'PASS', why: reasons[0] ?? '' }
}

/** Whoever had no core left, at the lowest rate that was too much. */
function bottleneckOf({ measured }: Tried): string {
  const [phase] = promisedPhases(measured)
  const moments = phase === undefined ? [] : momentsOf(measured, phase)
  const [first, last] = [moments[0], moments.at(-1)]
  if (!first || !last) return 'unknown'
  const used = Object.entries(coresUsed(first, last)).sort((a, b) => b[1] - a[1])
  const bounds: Readonly<Record<string, number>> = { server: Math.min(cores, measured.workers), generator: cores, Redis: 1 }
  const full = used.find(([name, of]) => of > 0.85 * (bounds[name] ?? cores))
  const shares = used.map(([name, of]) => `${name} ${short(of)}`).join(', ')
  if (full !== undefined) return `${full[0]} (cores: ${shares})`
  const all = used.reduce((sum, [, of]) => sum + of, 0)
  return all > 0.85 * cores ? `the machine, mostly ${used[0]?.[0] ?? ''} (cores: ${shares})` : `not CPU (cores: ${shares})`
} // prettier-ignore

function capacityReport(order: Order, links: number, tries: readonly Tried[], best: Tried | undefined): Report {
  const shown = best ?? tries.at(-1)!
  const { measured } = shown
  const worst = tries.filter(({ kept }) => !kept).sort((a, b) => a.rate - b.rate)[0]
  const moments = momentsOf(measured, promisedPhases(measured)[0]!)
  const [first, last] = [moments[0], moments.at(-1)]
  const server = first && last ? (last.cpu['server'] ?? NaN) - (first.cpu['server'] ?? NaN) : NaN
  const cpuUs = first && last ? (server * 1e6) / growth(first, last, 'quicklink_redirects_total') : NaN
  const found: Check = {
    claim: 'a rate was found that keeps every promise',
    promised: 'yes',
    measured: best === undefined ? 'none' : `${short(best.rate)}/s`,
    ok: best !== undefined,
  }
  const report = reportOf(measured, {
    name: 'capacity',
    title: `The highest rate that keeps the promises of steady is ${best === undefined ? 'below all that were tried' : `${short(best.rate)}/s`}.`,
    own: [found],
    environment: { target: order.target.what, workers: measured.workers, k6: order.k6.version, links },
  })
  const derived = 1e6 / cpuUs
  return {
    ...report,
    figures: [
      { name: 'capacity', value: best?.rate ?? NaN, unit: '/s', better: 'more' as const },
      { name: 'redirects per second of one core of the server, derived from its CPU per redirect', value: derived, unit: '/s', better: 'more' as const },
      ...report.figures,
    ].filter(({ value }) => Number.isFinite(value)),
    tables: [
      {
        title: 'The search',
        note: worst === undefined ? 'No limit was found.' : `The bottleneck at ${short(worst.rate)}/s was ${bottleneckOf(worst)}.`,
        head: ['rate/s', 'promises', 'why'],
        rows: tries.map(({ rate, kept, why }) => [rate, kept ? 'kept' : 'not kept', why]),
      },
      ...report.tables,
    ],
  }
} // prettier-ignore
