// All that was measured side by side, as a report.
import { cpus } from 'node:os'
import { makeReport, type Check, type Figure, type Report, type Table } from '../report/report.ts'
import { short } from '../report/text.ts'
import type { Spread } from '../measure/stats.ts'
import type { SubjectResult } from './subjects.ts'
import { visitorsTable } from './visitors.ts'

type Subjects = Readonly<Record<string, SubjectResult>>

interface Parts extends Pick<Report, 'at' | 'commit' | 'environment' | 'charts'> {
  readonly subjects: Subjects
  readonly checks: readonly Check[]
  readonly doubts?: readonly string[]
  readonly tables: readonly Table[]
}

export const reportOf = ({ subjects, tables, ...about }: Parts): Report => makeReport({
  kind: 'bench',
  name: 'bench',
  title: 'CPU is user and system time of all processes of the server, per request. The runs were interleaved; a figure is the median of its repetitions, in brackets the least and the most.',
  figures: figuresOf(subjects),
  tables: [visitorsTable(subjects), subjectsTable(subjects), ...tables],
  ...about,
}) // prettier-ignore

/** Those that do nothing but answer. */
export const bareOf = (subjects: Subjects): Spread[] =>
  Object.entries(subjects).flatMap(([name, { cpuUs }]) => (/^(http|net)/.test(name) ? [cpuUs] : []))

/** Whose ratios the wanted ones were set by. */
const cpu = 'AMD EPYC'

export function doubtsOfCpu(checks: readonly Check[], model = cpus()[0]?.model ?? 'unknown'): string[] {
  if (model.startsWith(cpu) || checks.every(({ ok }) => ok)) return []
  return [`What was wanted was set on an ${cpu}, and this is ${model}: what a system call costs beside a line of JavaScript differs from one to the other.`] // prettier-ignore
}

/** Machines differ in speed from day to day: the bare `node:http` that answers the same takes that out of what is compared. */
function figuresOf(subjects: Subjects): Figure[] {
  return Object.entries(subjects).flatMap(([name, { what, cpuUs }]) => {
    const shape = subjects[`http ${name.replace(/^(http|net) /, '')}`]
    const bare = shape ?? subjects[name.endsWith('Browser') ? 'httpBrowser' : 'http']
    if (bare === undefined || bare.what === what) return []
    const [value, least, most] = [cpuUs.median, cpuUs.min, cpuUs.max].map((us) => us / bare.cpuUs.median) as [number, number, number] // prettier-ignore
    return [{ name: `CPU, ÷ bare \`node:http\`: ${what}`, value, unit: '', range: [least, most] as const, better: 'less' }]
  }) satisfies Figure[] // prettier-ignore
}

const subjectsTable = (subjects: Subjects): Table => ({
  title: 'Subjects',
  note: 'The requests per second are of one core for the server, unless the generator was the bottleneck.',
  head: ['subject', 'CPU µs/request', 'requests/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'failed'],
  rows: Object.values(subjects).map(({ what, cpuUs, rps, p50Ms, p99Ms, p999Ms, failed }) => [
    what,
    within(cpuUs),
    within(rps),
    ...[p50Ms, p99Ms, p999Ms].map(({ median }) => short(median)),
    failed,
  ]),
})

const within = ({ median, min, max }: Spread): string => `${short(median)} [${short(min)}, ${short(max)}]`
