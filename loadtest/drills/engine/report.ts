// What a drill was like, for the binder: timeline, hypothesis against figures, charts, and the last run beside this one.
import { comparison } from '../../report/compare.ts'
import { dashboardUrl } from '../../report/grafana.ts'
import { makeReport, type Figure, type Report, type Table } from '../../report/report.ts'
import { percent, short } from '../../report/text.ts'
import type { Drill } from './drill.ts'
import type { DrillResult } from './drill-run.ts'
import { mayAlwaysRing } from './judge.ts'
import { peak, worstShare, type Observed, type Phase } from './observed.ts'
import { chartsOf, firstMs, headlineOf, isOpen, marksOf, noticedMs, phasesOf, secondsOfP99 } from './plots.ts'
import { factor } from './rules.ts'

export function reportOf(result: DrillResult, earlier: Report | undefined): Report {
  const { drill, beganAt, checks, doubts, observed, settings, marks } = result
  // Whatever the machine was busy with: a wrong answer, a failure or a state that never came is QuickLink's.
  const certain = checks.map(({ claim }) => claim)
  const originMs = observed?.moments.beganMs ?? marks[0]?.atMs ?? 0
  const report = makeReport({
    kind: 'drill',
    name: result.name,
    title: drill.claim,
    at: beganAt.toISOString(),
    checks,
    figures: observed ? figuresOf(observed) : [],
    hypothesis: hypothesis(result),
    ...(observed ? seen(drill, observed, result.rung) : {}),
    tables: [timeline(result, originMs), alerts(result), ...(observed ? [failures(observed)] : [])],
    environment: {
      mode: result.mode,
      ...result.loadBeside,
      'requests per second': result.rate,
      ...(result.compressed.length > 0 && { 'made shorter by SHORT=yes': result.compressed.join('; ') }),
      ...settings,
    },
    doubts,
    certain,
  })
  const { tables, phases } = report
  const at = new Date(originMs).toISOString()
  return {
    ...report,
    ...(result.grafanaUrl === undefined ? {} : { grafanaUrl: dashboardUrl(result.grafanaUrl, { at, phases }) }),
    tables: earlier ? [...tables, comparison(report, earlier)] : tables,
  }
}

const seen = (drill: Drill, observed: Observed, rung: DrillResult['rung']): Partial<Report> => ({
  headline: headlineOf(observed),
  phases: phasesOf(observed),
  marks: marksOf(observed, rung),
  originS: (observed.moments.injectedMs - observed.moments.beganMs) / 1000,
  charts: chartsOf(drill, observed, rung),
})

/** For the terminal: how many were hurt, how slow it was, and how long until it was as before. */
export function threeFigures(observed: Observed): string {
  const { fault, moments } = observed
  const steadyMs = moments.recoveredMs - moments.healedMs
  const steady = observed.noted('recovered') === 1 ? `steady ${short(steadyMs / 1000)} s after the heal` : 'not steady again' // prettier-ignore
  return `at worst ${percent(worstShare(observed))} of a second's visitors were not answered; p99 ${short(fault.quantile(0.99))} ms while it lasted; ${steady}` // prettier-ignore
}

function figuresOf(observed: Observed): Figure[] {
  const { moments, baseline, fault, after, recovery } = observed
  const ms = (name: string, value: number, of?: Phase): Figure[] => {
    const spread = of && secondsOfP99(of.answers, of.fromMs)
    return Number.isFinite(value) ? [{ name, value, unit: 'ms', better: 'less', ...(spread ? { spread } : {}) }] : []
  }
  return [
    ...ms('p50, baseline', baseline.quantile(0.5)),
    ...ms('p99, baseline', baseline.quantile(0.99), baseline),
    ...ms('p50 while the fault lasted', fault.quantile(0.5)),
    ...ms('p99 while the fault lasted', fault.quantile(0.99), fault),
    // The bound of a bucket: the next one is no measure of worse.
    ...ms("p99 while the fault lasted, by QuickLink's own account, at most", observed.ownQuantile(0.99)).map(
      ({ name, value, unit }) => ({ name, value, unit }),
    ),
    ...ms('peak p99 of a second', peak(observed).ms),
    { name: 'lateness of the load itself in that second (p99)', value: peak(observed).latenessMs, unit: 'ms' },
    ...ms('p99 when steady again', after.quantile(0.99), after),
    ...ms('heal to steady again', moments.recoveredMs - moments.healedMs),
    { name: 'answers from the fault to the end', value: observed.all.answers.length, unit: '' },
    { name: '503 while the fault lasted', value: fault.count(503) + recovery.count(503), unit: '' },
    {
      name: 'visitors of the worst second who were not answered',
      value: 100 * worstShare(observed),
      unit: '%',
      better: 'less',
    },
    { name: 'wrong destinations', value: observed.all.wrong, unit: '', better: 'less' },
    { name: 'lateness of the load itself (p99)', value: observed.all.latenessMs, unit: 'ms' },
  ]
}

function timeline({ marks, observed, rung }: DrillResult, originMs: number): Table {
  const worst = observed && peak(observed)
  const further: [number, string][] = observed
    ? [
        [noticedMs(observed), 'noticed by QuickLink: a breaker is not closed, or Redis is not trusted'],
        [firstMs(observed, isOpen), 'a breaker is open'],
        ...(rung ?? []).flatMap(({ name, severity, fromMs, toMs }): [number, string][] => [
          [fromMs, `rings: ${name} (${severity})`],
          [toMs ?? NaN, `over: ${name} (${severity})`],
        ]),
        [worst?.atMs ?? NaN, `peak: p99 of this second is ${short(worst?.ms ?? NaN)} ms`],
      ]
    : []
  const all = [...marks.map(({ atMs, what }): [number, string] => [atMs, what]), ...further]
    .filter(([atMs]) => Number.isFinite(atMs))
    .sort(([a], [b]) => a - b)
  const t0Ms = observed?.moments.injectedMs ?? originMs
  return {
    title: 'Timeline',
    note: 'Seconds from the fault (T0). States are looked at ten times a second.',
    head: ['at', 'what'],
    rows: all.map(([atMs, what]) => [((atMs - t0Ms) / 1000).toFixed(2), what]),
  }
}

function hypothesis({ drill, observed }: DrillResult): Table {
  const may = drill.load.groups.filter(({ may = [] }) => may.length > 0)
  const spared = may.map(({ name, may }) => `${name}: also ${may?.join(', ')}`).join('; ')
  return {
    title: 'Hypothesis',
    head: ['', ''],
    rows: [
      [
        'fault',
        `${drill.fault.what}${observed ? `, for ${short((observed.moments.healedMs - observed.moments.injectedMs) / 1000)} s` : ''}`,
      ],
      ['proof that it landed', drill.fault.landed.what],
      ['heal', drill.heal.what],
      ['proof that it is gone', drill.heal.healed.what],
      ['load', drill.load.groups.map(({ name, share }) => `${name} ${share}`).join(', ')],
      [
        'answers that are right, from the fault until recovery',
        `302, and 404 for what was disabled${spared ? ` (${spared})` : ''}`,
      ],
    ],
  }
}

/** The first of them, for whoever looks into it. */
function failures({ baseline, fault, recovery, after, moments }: Observed): Table {
  const all = [baseline, fault, recovery, after].flatMap(({ failures }) => failures)
  return {
    title: 'Answers outside the promised ones, or to a wrong place',
    note: `${all.length} of them${all.length > 20 ? '; the first 20' : ''}.`,
    head: ['at', 'code', 'answer', 'after ms'],
    rows: all
      .slice(0, 20)
      .map(({ dueMs, code, status, location, ms }) => [
        ((dueMs - moments.injectedMs) / 1000).toFixed(3),
        code,
        location ?? (status || 'none'),
        short(ms),
      ]),
  }
}

function alerts({ drill, rung, observed }: DrillResult): Table {
  const title = 'Alerts'
  if (rung === undefined || observed === undefined) {
    const note = 'Not checked: this needs MODE=docker, or a `prometheus` on the PATH and not the short form. In earnest these are expected.'
    return { title, note, head: ['alert', 'rang'], rows: drill.alerts.map((name) => [name, 'not checked']) }
  }
  const { injectedMs } = observed.moments
  const at = (ms: number | undefined): string => (ms === undefined ? 'still rings' : `${((ms - injectedMs) / 1000).toFixed(1)} s`)
  const why = (name: string): string =>
    drill.alerts.includes(name) ? 'yes' : [...(drill.mayRing ?? []), ...mayAlwaysRing].includes(name) ? 'may ring' : 'NO'
  const silent = drill.alerts.filter((name) => !rung.some((each) => each.name === name))
  return {
    title,
    note: `By Prometheus's own account, in seconds from the fault. The rules are those of prometheus/alerts.yml, their windows and waits divided by ${factor}, their thresholds as they are. When the fault began none rang.`,
    head: ['alert', 'severity', 'expected', 'rang at', 'over at'],
    rows: [
      ...rung.map(({ name, severity, fromMs, toMs }) => [name, severity, why(name), at(fromMs), at(toMs)]),
      ...silent.map((name) => [name, '', 'yes', 'never', '']),
    ],
  }
} // prettier-ignore
