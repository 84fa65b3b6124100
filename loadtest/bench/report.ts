// A result, as a person reads it. Nothing stands here that is not in the JSON.
import { short, table } from '../report/text.ts'
import {
  stallBoundMs,
  type MemoryResult,
  type OpenLoopRow,
  type Result,
  type Scrape,
  type SubjectResult,
  type VisitorRow,
} from './results.ts'
import type { Spread } from '../measure/stats.ts'
import { atMostToNet } from './visitors.ts'

export function markdown(result: Result): string {
  const { subjects, visitors, targets, openLoop, memory, scrape, machine, config } = result
  const settings = { ...machine, ...config }
  return [
    `# Benchmark of ${result.at.slice(0, 10)}, commit ${result.commit}${result.dirty ? ' and changes on top of it' : ''}`,
    '',
    'CPU is user and system time of all processes of the server, per request. The runs were interleaved; a figure is the',
    'median of its repetitions, in brackets the least and the most.',
    '',
    ...(visitors.length === 0 ? [] : visitorsPart(visitors)),
    '## Subjects',
    '',
    ...table(
      ['subject', 'CPU µs/request', '÷ `node:http`', 'requests/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'failed'],
      Object.entries(subjects).map(([name, subject]) => subjectRow(name, subject, subjects)),
    ),
    '`handler` is what the look-ups before Express spare: in the server, a link that tier 1 holds is answered before it.',
    'The requests per second are of one core for the server, unless the generator was the bottleneck.',
    '',
    '## Targets',
    '',
    ...table(
      ['what', 'target', 'measured', ''],
      targets.map(({ what, wanted, measured, unit, met }) => [what, wanted, `${short(measured)} ${unit}`, met ? 'met' : '**missed**']),
    ), // prettier-ignore
    ...(openLoop.length === 0 ? [] : openLoopPart(openLoop)),
    ...(memory === null ? [] : memoryPart(memory)),
    ...(scrape === null
      ? []
      : [
          '## /metrics',
          '',
          `${scrape.workers} workers, ${scrape.samples} samples, ${scrape.rounds} scrapes and as many rounds without: ${stallsText(scrape)}.`,
          '',
        ]),
    '## Machine and configuration',
    '',
    ...table(['what', 'value'], Object.entries(settings).map(([name, value]) => [name, String(value)])), // prettier-ignore
  ].join('\n')
}

function subjectRow(name: string, subject: SubjectResult, all: Result['subjects']): string[] {
  const { what, cpuUs, rps, p50Ms, p99Ms, p999Ms, failed } = subject
  const beside =
    all[`http ${name.replace(/^(http|net) /, '')}`] ?? all[name.endsWith('Browser') ? 'httpBrowser' : 'http']
  const bare = beside?.cpuUs.median ?? NaN
  const latencies = [p50Ms, p99Ms, p999Ms].map(({ median }) => short(median))
  return [what, within(cpuUs), short(cpuUs.median / bare), within(rps), ...latencies, String(failed)]
}

const within = ({ median, min, max }: Spread): string => `${short(median)} [${short(min)}, ${short(max)}]`

function visitorsPart(rows: readonly VisitorRow[]): string[] {
  const judged = (figure: number | null, atMost: number | null): string => {
    const text = short(figure ?? NaN)
    return figure !== null && atMost !== null && figure > atMost ? `**${text}**` : text
  }
  return [
    '## What visitors send',
    '',
    'CPU per request, medians; each shape beside a bare `node:http` server and a bare socket that answer the same requests. The tier 1',
    `holds 10,000 links where nothing else is said. Wanted of the bare socket: at most ${atMostToNet}, where QuickLink knows the link. Behind a`,
    'proxy, it is the work of the server alone.',
    '',
    ...table(
      ['what comes', 'CPU µs', '÷ bare `node:http`', 'wanted', '÷ bare socket', 'bare socket ÷ `node:http`', 'failed'],
      rows.map(({ what, cpuUs, toHttp, wanted, netToHttp, toNet, failed }) => [
        what,
        short(cpuUs),
        judged(toHttp, wanted),
        wanted === null ? '' : `≤ ${wanted}`,
        judged(toNet, wanted === null ? null : atMostToNet),
        short(netToHttp ?? NaN),
        failed,
      ]),
    ),
  ] // prettier-ignore
}

/** From here on, the generator had no time to be on time. */
const tooBusy = 0.95

function openLoopPart(rows: readonly OpenLoopRow[]): string[] {
  const late = rows.some(({ generatorBusy }) => generatorBusy > tooBusy)
  return [
    '## Latency at a constant rate',
    '',
    'Open loop: each request is due at its own time, and its latency counts from then on, whenever it could be sent. QuickLink and the bare',
    'socket take turns at the same rate, a quarter of a second each, five seconds in all. Medians of three runs; in brackets the best and the',
    'worst; the p99 of a usual slice is the median of all slices of all runs, and the ratio is that of slices next to each other.',
    ...(late ? ['In rows with *, the generator had no time left itself: they say little about the server, which was faster than that.'] : []),
    '',
    ...table(
      ['front door', 'of the capacity', 'rate/s', 'answered/s', 'p50 ms (bare socket)', 'p99 ms (bare socket)', 'of a usual slice', '÷ bare socket, slice by slice', 'p99.9 ms', 'longest ms', 'generator busy', 'failed'],
      rows.map((row) => [
        `${row.door}${row.generatorBusy > tooBusy ? ' *' : ''}`,
        `${Math.round(100 * row.share)} %`,
        short(row.rate),
        short(row.achieved),
        `${short(row.p50Ms)} (${short(row.floorP50Ms)})`,
        `${short(row.p99Ms)} [${row.p99BetweenMs.map(short).join(', ')}] (${short(row.floorP99Ms)})`,
        `${short(row.usualP99Ms)} (${short(row.floorUsualP99Ms)})`,
        ...[row.p99ToFloor, row.p999Ms, row.maxMs].map(short),
        `${Math.round(100 * row.generatorBusy)} %`,
        String(row.failed),
      ]),
    ),
  ] // prettier-ignore
}

function memoryPart({ links, redisBytesPerKey, postgresBytesPerRow, workerBytes, tier1 }: MemoryResult): string[] {
  const gb = (bytesEach: number): string => `${short((bytesEach * 100e6) / 1e9)} GB`
  const { table: rows, indexes, outbox } = postgresBytesPerRow
  const places: [string, number][] = [
    ['Redis, one key per link', redisBytesPerKey],
    ['Postgres, rows', rows],
    ['Postgres, indexes', indexes],
    ['Postgres, outbox (only of the changes of the last 48 hours)', outbox],
  ]
  return [
    '## Memory',
    '',
    `Measured with ${links.toLocaleString('en')} links, each with a URL of about 70 characters.`,
    '',
    ...table(
      ['where', 'bytes per link', 'at 100 M links'],
      places.map(([where, bytes]) => [where, short(bytes), gb(bytes)]),
    ),
    `A worker takes ${short(workerBytes.idle / 1e6)} MB at rest and ${short(workerBytes.loaded / 1e6)} MB after full load.`,
    `Its heap after a collection: ${tier1.map((one) => `${short(one.heapBytes / 1e6)} MB with a tier 1 of ${short(one.links)} links`).join(', ')}.`,
    '',
  ]
}

/** On few cores, a worker waits while another process has its core; only its own work is of QuickLink's making. */
export function stallsText({ rounds, scraped, quiet }: Scrape): string {
  const text = ({ usualMs, worstMs, over }: typeof scraped.all): string =>
    `usually ${short(usualMs)} ms, at worst ${short(worstMs)} ms (${over} of ${rounds} above ${stallBoundMs} ms)`
  return (
    `a worker's own work in one stall was ${text(scraped.own)}; with its waiting for a core the stall was ` +
    `${text(scraped.all)}, and without a scrape ${text(quiet.all)}`
  )
}
