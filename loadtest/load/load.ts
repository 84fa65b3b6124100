// make load NAME=steady: one scenario against a running QuickLink. Ends with 0 for PASS, 1 for FAIL, 2 for INCONCLUSIVE.
// RATE, SECONDS, DATASET (links), SEED, ZIPF (exponent), RECOVERY_S (redis-down) change it; SHORT=yes is a short form, NAME=all every one.
import { Refusal } from '../../embedded/paths.ts'
import { placesFrom } from '../../embedded/up.ts'
import { comparison, lastReport } from '../report/compare.ts'
import { annotate, dashboardUrl, regionOf } from '../report/grafana.ts'
import { numberOf, yesOf } from '../report/knobs.ts'
import { exitCodes, type Report, type Verdict } from '../report/report.ts'
import { writeReport } from '../report/write.ts'
import { findCapacity } from './capacity.ts'
import { linksIn } from './dataset.ts'
import { heedInterrupts, Interrupted, interruptedCode } from './interruption.ts'
import { findK6 } from './k6-program.ts'
import { terminal } from './progress.ts'
import { findGrafana, whileReceiving } from './publish.ts'
import { quick } from './quick.ts'
import { runScenario, type Order } from './run.ts'
import { scenarios } from './scenarios.ts'
import { inDocker } from './target-docker.ts'
import { findTarget, type Target } from './target.ts'

const env = process.env
const say = terminal(process.stdout)

/** What the scripts understand, as far as it is set. */
const knobs = {
  RATE: { from: 1, to: 200_000, unit: 'visitors a second' },
  SECONDS: { from: 1, to: 604_800, unit: 'seconds' },
  ZIPF: { from: 0, to: 5, fraction: true },
  TIMES: { from: 1, to: 100, fraction: true },
  SCAN_RATE: { from: 1, to: 200_000, unit: 'absent codes a second' },
  WRITE_RATE: { from: 1, to: 10_000, unit: 'changes a second' },
  RECOVERY_S: { from: 1, to: 604_800, unit: 'seconds' },
}
/** So little that two cores shared by everybody are not full. */
const gently = { RATE: '400', SCAN_RATE: '200', WRITE_RATE: '5' }
const others: Readonly<Record<string, string>> = {
  quick: 'As fast as a few connections go, by autocannon; k6 is not needed.',
  capacity: 'The highest rate that keeps its promises.',
}

function settingsFor(name: string): Record<string, string> {
  const given: Record<string, string> = {}
  for (const [knob, range] of Object.entries(knobs)) {
    const value = numberOf(env, knob, range)
    if (value !== undefined) given[knob] = String(value)
  }
  const write = env['PROMETHEUS_WRITE_URL']
  if (write) given['K6_PROMETHEUS_RW_SERVER_URL'] = write
  if (!yesOf(env, 'SHORT')) return given
  const shortS = scenarios[name]?.shortS
  return { ...gently, ...(shortS === undefined ? {} : { SECONDS: String(shortS) }), ...given }
}

function tell({ verdict, name, headline, reasons, checks }: Report): void {
  if (headline !== undefined) say(`  ${headline}`)
  for (const { claim, promised, measured, ok } of checks) {
    say(`  ${ok ? 'ok    ' : 'BROKEN'} ${claim}: ${measured} (${promised})`)
  }
  for (const reason of reasons) say(`  ${reason}`)
  say(`${verdict}: ${name}`)
}

async function load(name: string, target: Target): Promise<Verdict> {
  const about = scenarios[name]?.about ?? others[name] ?? ''
  const links = linksIn(env['DATASET'] || (yesOf(env, 'SHORT') ? '10k' : '100k'))
  const order = { name, target, links, seed: env['SEED'] || '1', settings: settingsFor(name) }
  say(`${name}: ${about} Against ${target.what}, ${target.url}`)
  const run = (): Promise<Report> => {
    const withK6: Order = { ...order, k6: findK6(target.what === inDocker, env['K6']) }
    const underWay = (): Promise<Report> => (name === 'capacity' ? findCapacity(withK6, say) : runScenario(withK6, say))
    // The one in a container writes where Prometheus is.
    return 'K6_PROMETHEUS_RW_SERVER_URL' in withK6.k6.env ? whileReceiving(underWay) : underWay()
  }
  const made = name === 'quick' ? await quick(order, say) : await run()
  const earlier = lastReport(name)
  const report = earlier ? { ...made, tables: [...made.tables, comparison(made, earlier)] } : made
  tell(report)
  const grafanaUrl = await marked(report, target)
  say(`The report: ${writeReport({ ...report, grafanaUrl })}/report.html\n`)
  return report.verdict
}

/** In Grafana, where there is one: the dashboard that shows it. */
async function marked(report: Report, target: Target): Promise<string | undefined> {
  const grafana = await findGrafana(env, target.what === inDocker)
  if (grafana === undefined) return undefined
  if (await annotate(grafana, regionOf(report))) return dashboardUrl(grafana.url, report)
  say('Grafana did not take the annotation.')
  return undefined
}

/** For the short forms. What proves nothing is no failure: a wrong answer would have been one all the same. */
async function loadAll(target: Target): Promise<number> {
  const verdicts: Verdict[] = []
  for (const name of ['quick', ...Object.keys(scenarios)]) verdicts.push(await load(name, target))
  const count = (verdict: Verdict): number => verdicts.filter((each) => each === verdict).length
  const skipped = count('INCONCLUSIVE') > 0 ? `, ${count('INCONCLUSIVE')} skipped` : ''
  say(`${count('PASS')} passed, ${count('FAIL')} failed${skipped}`)
  return count('FAIL') > 0 ? 1 : 0
}

async function main(name: string): Promise<number> {
  const known = [...Object.keys(scenarios), ...Object.keys(others)]
  if (name === '') throw new Refusal(`Say which: NAME=… make load. There are: ${known.join(', ')}.`)
  if (name !== 'all' && !known.includes(name))
    throw new Refusal(`There is no load test ${name}: NAME=… make load takes ${known.join(', ')}, or all.`)
  // Before links are made for it.
  settingsFor(name)
  linksIn(env['DATASET'] || '1')
  const target = await findTarget(env, placesFrom(env))
  try {
    return name === 'all' ? await loadAll(target) : exitCodes[await load(name, target)]
  } finally {
    await target.close()
  }
}

heedInterrupts()
try {
  process.exitCode = await main(env['NAME'] ?? '')
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error)
  process.exitCode = error instanceof Interrupted ? interruptedCode : 2
}
