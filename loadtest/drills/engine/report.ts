// What a drill was like, for the binder: timeline, hypothesis against figures, charts, and the last run beside this one.
import { readdirSync, readFileSync } from 'node:fs'
import {
  figureText,
  makeReport,
  type Chart,
  type Figure,
  type Report,
  type Series,
  type Table,
} from '../../report/report.ts'
import { short } from '../../report/text.ts'
import type { DrillResult } from './drill-run.ts'
import { mayAlwaysRing } from './judge.ts'
import { factor } from './rules.ts'
import { quantile } from '../../measure/stats.ts'
import type { Answered } from './load.ts'
import { bySecond, peak, type Observed } from './observed.ts'
import type { Worker } from '../../measure/ops.ts'

export function reportOf(result: DrillResult, earlier: Report | undefined): Report {
  const { drill, beganAt, checks, doubts, observed, settings, marks } = result
  // Whatever the machine was busy with: a wrong answer, a failure or a state that never came is QuickLink's.
  const certain = checks.map(({ claim }) => claim)
  const figures = observed ? figuresOf(observed) : []
  const originMs = observed?.moments.beganMs ?? marks[0]?.atMs ?? 0
  return makeReport({
    kind: 'drill',
    name: result.name,
    title: drill.claim,
    at: beganAt.toISOString(),
    checks,
    phases: observed ? phasesOf(observed) : [],
    marks: observed ? marksOf(observed, result.rung, originMs) : [],
    figures,
    charts: observed ? chartsOf(observed) : [],
    tables: [
      hypothesis(result),
      timeline(result, originMs),
      alerts(result),
      ...(observed ? [failures(observed)] : []),
      ...(earlier ? [comparison(figures, earlier)] : []),
    ],
    environment: {
      mode: result.mode,
      'requests per second': drill.load.rate,
      ...settings,
    },
    doubts,
    certain,
  })
}

function figuresOf(observed: Observed): Figure[] {
  const { moments, baseline, fault, after, recovery } = observed
  const ms = (name: string, value: number): Figure[] =>
    Number.isFinite(value) ? [{ name, value, unit: 'ms', better: 'less' }] : []
  return [
    ...ms('p50, baseline', baseline.quantile(0.5)),
    ...ms('p99, baseline', baseline.quantile(0.99)),
    ...ms('p50 while the fault lasted', fault.quantile(0.5)),
    ...ms('p99 while the fault lasted', fault.quantile(0.99)),
    ...ms("p99 while the fault lasted, by QuickLink's own account, at most", observed.ownQuantile(0.99)),
    ...ms('peak p99 of a second', peak(observed).ms),
    { name: 'lateness of the load itself in that second (p99)', value: peak(observed).latenessMs, unit: 'ms' },
    ...ms('p99 when steady again', after.quantile(0.99)),
    ...ms('heal to steady again', moments.recoveredMs - moments.healedMs),
    { name: 'answers from the fault to the end', value: observed.all.answers.length, unit: '' },
    { name: '503 while the fault lasted', value: fault.count(503) + recovery.count(503), unit: '' },
    { name: 'wrong destinations', value: observed.all.wrong, unit: '', better: 'less' },
    { name: 'lateness of the load itself (p99)', value: observed.all.latenessMs, unit: 'ms' },
  ]
}

function phasesOf({ moments: { beganMs, injectedMs, healedMs, recoveredMs, endedMs } }: Observed): Report['phases'] {
  const phase = (name: string, fromMs: number, toMs: number) => {
    const [fromS, toS] = [(fromMs - beganMs) / 1000, (toMs - beganMs) / 1000]
    return { name, fromS, toS }
  }
  return [
    phase('baseline', beganMs, injectedMs),
    phase('fault', injectedMs, healedMs),
    phase('recovery', healedMs, recoveredMs),
    phase('after', recoveredMs, endedMs),
  ]
}

/** From the fault on, when it was first so for one of the workers. */
const firstMs = ({ watch, moments }: Observed, isSo: (worker: Worker) => boolean): number =>
  watch.looks.find(({ atMs, workers }) => atMs >= moments.injectedMs && workers.some(isSo))?.atMs ?? NaN

const isOpen = ({ redis, postgres }: Worker): boolean => redis.breaker !== 'closed' || postgres.breaker !== 'closed'

function marksOf(observed: Observed, rung: DrillResult['rung'], originMs: number): Report['marks'] {
  const moments: [number, string][] = [
    [firstMs(observed, isOpen), 'breaker open'],
    [rung?.[0]?.fromMs ?? NaN, 'first alert'],
  ]
  return moments.filter(([ms]) => Number.isFinite(ms)).map(([ms, what]) => ({ atS: (ms - originMs) / 1000, what }))
}

function timeline({ marks, observed, rung }: DrillResult, originMs: number): Table {
  const worst = observed && peak(observed)
  const noticedMs = observed ? firstMs(observed, (worker) => isOpen(worker) || !worker.redis.trusted) : NaN
  const further: [number, string][] = observed
    ? [
        [
          noticedMs < observed.moments.recoveredMs ? noticedMs : NaN,
          'noticed by QuickLink: a breaker is not closed, or Redis is not trusted',
        ],
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
    const note = 'Not checked: this needs the Prometheus of MODE=docker. In earnest these are expected.'
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

function comparison(figures: readonly Figure[], earlier: Report): Table {
  return {
    title: 'The last run of this drill',
    note: `Of ${earlier.at.slice(0, 16).replace('T', ' ')} UTC, commit ${earlier.commit}: ${earlier.verdict}.`,
    head: ['what', 'then', 'now'],
    rows: figures.map((figure) => {
      const then = earlier.figures.find(({ name }) => name === figure.name)
      return [figure.name, then ? figureText(then) : '–', figureText(figure)]
    }),
  }
}

/** The newest report of this drill in a folder of reports. */
export function lastReport(name: string, parent = new URL('../../reports/', import.meta.url).pathname) {
  try {
    const [newest] = readdirSync(parent).filter((folder) => new RegExp(`^[\\dT-]+-${name}$`).test(folder)).sort().reverse() // prettier-ignore
    if (newest === undefined) return undefined
    return JSON.parse(readFileSync(`${parent}/${newest}/report.json`, 'utf8')) as Report
  } catch {
    return undefined
  }
}

function chartsOf(observed: Observed): Chart[] {
  const { baseline, all, moments } = observed
  const { beganMs, endedMs } = moments
  // Of whole seconds only: half of one looks like half of the load.
  const wholeMs = beganMs + 1000 * Math.floor((endedMs - beganMs) / 1000)
  const answers = [...baseline.answers, ...all.answers].filter(({ dueMs }) => dueMs < wholeMs)
  const seconds = bySecond({ answers, fromMs: beganMs })
  const series = (name: string, of: (second: readonly Answered[]) => number): Series => ({
    name,
    points: seconds.map(([ms, answers]) => [Math.round((ms - beganMs) / 1000), of(answers)]),
  })
  const latency = (share: number) => (second: readonly Answered[]) =>
    quantile(
      second.map(({ ms }) => ms),
      share,
    )
  const count = (is: (status: number) => boolean) => (second: readonly Answered[]) =>
    second.filter(({ status }) => is(status)).length
  return [
    {
      title: 'Latency from when each request was due, by second',
      unit: 'ms',
      logarithmic: true,
      series: [series('p50', latency(0.5)), series('p99', latency(0.99))],
    },
    {
      title: 'Answers by second',
      unit: '/s',
      series: [
        series(
          'redirects',
          count((status) => status === 302 || status === 301),
        ),
        series(
          '503',
          count((status) => status === 503),
        ),
        series(
          'other or none',
          count((status) => ![301, 302, 503].includes(status)),
        ),
      ],
    },
  ]
}
