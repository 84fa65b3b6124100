// What a run says of itself, whoever made it (the bench, a load scenario or a drill), and how its verdict follows from its
// checks. `make load-compare` reads reports of older commits: add fields, do not rename them.
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os'
import { readBuild } from '../../server/telemetry/build.ts'
import { short } from './text.ts'

export type Verdict = 'PASS' | 'FAIL' | 'INCONCLUSIVE'

/** Something that was promised, and what came of it. */
export interface Check {
  readonly claim: string
  readonly promised: string
  readonly measured: string
  readonly ok: boolean
}

export interface Bounds {
  readonly unit?: string | undefined
  readonly atMost?: number | undefined
  readonly atLeast?: number | undefined
}

/** A figure against its bounds; `nothing` is said of one that there is not. */
export function checkOf(claim: string, figure: number, bounds: Bounds, nothing = '–'): Check {
  const { unit = '', atMost, atLeast } = bounds
  const text = (value: number): string => `${short(value)} ${unit}`.trim()
  const both = [
    ...(atLeast === undefined ? [] : [`≥ ${text(atLeast)}`]),
    ...(atMost === undefined ? [] : [`≤ ${text(atMost)}`]),
  ]
  return {
    claim,
    // Nothing that is counted is below 0.
    promised: atMost !== undefined && (atMost === atLeast || atMost === 0) ? text(atMost) : both.join(', '),
    measured: Number.isFinite(figure) ? text(figure) : nothing,
    ok: figure <= (atMost ?? Infinity) && figure >= (atLeast ?? -Infinity),
  }
}

/** A part of the run, shaded in the charts. Seconds count from the start of the run. */
export interface Phase {
  readonly name: string
  readonly fromS: number
  readonly toS: number
}

/** A moment worth a line in the charts: "Redis refuses", "breaker open". */
export interface Mark {
  readonly atS: number
  readonly what: string
}

export interface Series {
  readonly name: string
  /** Seconds and value, in the order of time. Null: nothing was measured, and the line has a gap. */
  readonly points: readonly (readonly [number, number | null])[]
  /** An area upon the areas before it: parts of a whole. */
  readonly stacked?: boolean
}

/** What was promised of a chart's values, from where to where. */
export interface Limit {
  readonly value: number
  readonly what: string
  readonly fromX: number
  readonly toX: number
}

/** What something was, over time: a breaker, an alert. */
export interface States {
  readonly name: string
  readonly spans: readonly {
    readonly fromX: number
    readonly toX: number
    readonly state: string
    readonly tone: 'good' | 'warn' | 'bad'
  }[]
}

export interface Chart {
  readonly title: string
  readonly unit: string
  /** Latencies want it: a stall would press everything else flat. Values of 0 have no place on it. */
  readonly logarithmic?: boolean
  /** The unit of what the points lie at, where that is not the seconds of the run; `percentile`: 2 is the 99th. */
  readonly against?: string
  readonly series: readonly Series[]
  readonly limits?: readonly Limit[]
  /** Instead of series. */
  readonly states?: readonly States[]
}

/** Charts that share their seconds, above each other, with what happened meanwhile. */
export interface Plot {
  readonly charts: readonly Chart[]
  readonly phases?: readonly Phase[]
  readonly marks?: readonly Mark[]
  /** The second of the run that is called 0: the fault. */
  readonly originS?: number
}

/** One of several runs that a report sums up. */
export interface Part {
  readonly name: string
  readonly verdict: Verdict
  readonly headline: string
  /** Its report, beside the folder of this one. */
  readonly href: string
  readonly plot: Plot
}

export interface Table {
  readonly title: string
  /** One paragraph before it, if it needs one. */
  readonly note?: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
}

/** What two runs are compared by. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** Of the repetitions, of which the value is the median: the least and the most. */
  readonly range?: readonly [number, number]
  /** Of a latency: between what its quieter and its worse seconds lie (quartiles). */
  readonly spread?: readonly [number, number]
  /** Left out: neither is better, it only says what the run was like. */
  readonly better?: 'less' | 'more'
}

export const figureText = ({ value, unit, range }: Figure): string =>
  `${short(value)} ${range === undefined ? '' : `[${range.map(short).join(', ')}] `}${unit}`.trim()

export interface Report {
  readonly kind: 'bench' | 'load' | 'drill'
  /** Of the scenario or drill: `hot-key`. Part of the folder's name. */
  readonly name: string
  /** One sentence: what was done to whom. */
  readonly title: string
  /** What came of it, in one sentence with the figures that matter. */
  readonly headline?: string | undefined
  /** ISO 8601, when the run began. */
  readonly at: string
  readonly commit: string
  readonly verdict: Verdict
  /** Why it is not PASS, a sentence each that names what to look at or to change. Notes, if it is. */
  readonly reasons: readonly string[]
  readonly checks: readonly Check[]
  readonly phases: readonly Phase[]
  readonly marks: readonly Mark[]
  /** The second that is called 0 in plots, if not the first. */
  readonly originS?: number | undefined
  readonly figures: readonly Figure[]
  readonly charts: readonly Chart[]
  /** What was expected, before what was measured. */
  readonly hypothesis?: Table | undefined
  readonly tables: readonly Table[]
  readonly parts?: readonly Part[]
  /** The dashboard of this time, where a Grafana that saw it is known to live on. */
  readonly grafanaUrl?: string | undefined
  /** Machine, versions, configuration: what someone would need to run it again. */
  readonly environment: Readonly<Record<string, string | number>>
}

export const exitCodes: Readonly<Record<Verdict, number>> = { PASS: 0, FAIL: 1, INCONCLUSIVE: 2 }

/**
 * A run whose circumstances prove nothing (doubts) is INCONCLUSIVE, whatever its checks say: a saturated generator measures
 * itself. All but a wrong answer: that one is wrong under any circumstances, so such checks are named `certain`.
 */
export function judge(
  checks: readonly Check[],
  doubts: readonly string[],
  certain: readonly string[] = [],
): { verdict: Verdict; reasons: string[] } {
  const failed = checks.filter(({ ok }) => !ok)
  const surely = failed.filter(({ claim }) => certain.includes(claim))
  const failures = failed.map(({ claim, promised, measured }) => `${claim}: ${measured}, promised was ${promised}.`)
  if (surely.length > 0 || (failed.length > 0 && doubts.length === 0)) {
    return { verdict: 'FAIL', reasons: [...failures, ...doubts] }
  }
  if (doubts.length > 0) return { verdict: 'INCONCLUSIVE', reasons: [...doubts, ...failures] }
  return { verdict: 'PASS', reasons: [] }
}

const kinds = { bench: 'Benchmark', load: 'Load test', drill: 'Drill' } as const

type Said = Pick<Report, 'kind' | 'name' | 'title' | 'checks'> &
  Partial<Report> & { readonly doubts?: readonly string[]; readonly certain?: readonly string[] }

/** What it does not say of itself is empty. */
export const makeReport = ({ doubts = [], certain = [], ...said }: Said): Report => ({
  at: new Date().toISOString(),
  commit: readBuild().commit,
  phases: [],
  marks: [],
  figures: [],
  charts: [],
  tables: [],
  ...judge(said.checks, doubts, certain),
  ...said,
  environment: { ...machine(), ...said.environment },
})

export const subtitle = ({ kind, title, at, commit }: Report): string =>
  `${title} ${kinds[kind]} of ${at.slice(0, 16).replace('T', ' ')} UTC, commit ${commit}.`

/** On what it ran: no figure means anything without it. */
export function machineLine({ environment }: Report): string {
  const { CPU, memory, system, node, [loadBefore]: load } = environment
  const parts = [CPU, memory, system, node === undefined ? undefined : `Node ${node}`, load === undefined ? undefined : `load before it ${load}`]
  return parts.filter((part) => part !== undefined).join(', ')
} // prettier-ignore

const loadBefore = 'load before'

/** Of the machine, before the run adds its own: how many programs wanted to run in the last minute. */
export const loadBeside = (): Report['environment'] => ({ [loadBefore]: Number((loadavg()[0] ?? 0).toFixed(2)) })

/** All that is a table, in the order of reading, for whoever lays it out. */
export function sections({ hypothesis, checks, figures, tables, environment }: Report): Table[] {
  const all: Table[] = [
    ...(hypothesis ? [hypothesis] : []),
    {
      title: 'Checks',
      head: ['claim', 'promised', 'measured', ''],
      rows: checks.map(({ claim, promised, measured, ok }) => [claim, promised, measured, ok ? 'kept' : 'BROKEN']),
    },
    {
      title: 'Figures',
      head: ['what', 'value'],
      rows: figures.map((figure) => [figure.name, figureText(figure)]),
    },
    ...tables,
    { title: 'Environment', head: ['what', 'value'], rows: Object.entries(environment) },
  ]
  return all.filter(({ rows }) => rows.length > 0)
}

const machine = (): Report['environment'] => ({
  CPU: `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}`,
  memory: `${(totalmem() / 2 ** 30).toFixed(1)} GiB`,
  system: `${type()} ${release()}`,
  node: process.versions.node,
})
