// What visitors really send, each shape beside the two floors that answer the same requests.
import { hot } from './arena.ts'
import { browserHeaders, type Load } from './loads.ts'
import { isInstalled, type ProxyName } from './proxies.ts'
import { checkOf, type Check, type Table } from '../report/report.ts'
import { short } from '../report/text.ts'
import type { SubjectResult } from './subjects.ts'

export interface Shape {
  readonly name: string
  readonly what: string
  readonly load: Load
  /** QuickLink ÷ bare `node:http`, CPU per request. */
  readonly atMost?: number
  /** `visitors` has a tier 1 of 10,000, that holds all that is asked for; `raw` has the usual one of 1,000. */
  readonly server?: 'raw' | 'visitors' | 'cutOff'
  /** Between both servers and their visitors. */
  readonly proxy?: ProxyName
}

const some: Load = { paths: { kind: 'zipf', prefix: 'link-', count: 2000 }, headers: [], status: 302 }
export const many: Load = { ...some, paths: { kind: 'zipf', prefix: 'link-', count: 100_000 } }
const byBrowser: Load = { ...some, headers: browserHeaders }
const closing: Load = { ...some, headers: [['Connection', 'close']], closes: true }

const all: readonly Shape[] = [
  { name: 'zipf', what: 'Zipf over 2,000 links, plain', load: some, atMost: 0.85 },
  { name: 'zipfBrowser', what: "with a browser's headers", load: byBrowser, atMost: 0.75 },
  { name: 'zipfTe', what: 'a browser, and `TE: trailers`', load: { ...some, headers: [...browserHeaders, ['TE', 'trailers']] }, atMost: 0.75 },
  { name: 'zipfAbsent', what: 'a browser, one in 100 for an absent code', load: { ...byBrowser, absentEvery: 100 }, atMost: 0.8 },
  { name: 'zipfHead', what: 'a browser, one in 20 a HEAD', load: { ...byBrowser, headEvery: 20 }, atMost: 0.75 },
  { name: 'zipfClose', what: 'plain, `Connection: close`', load: closing, atMost: 1.05 },
  { name: 'cutOff', what: 'one hot link, Redis off, Postgres away', load: hot, atMost: 0.8, server: 'cutOff' },
  { name: 'zipfWide', what: 'Zipf over 100,000 links, a tier 1 of 1,000', load: many, server: 'raw' },
  { name: 'zipfWider', what: 'Zipf over 100,000 links, a tier 1 of 10,000', load: many },
  { name: 'nginx', what: 'a browser, nginx by itself', load: byBrowser, proxy: 'nginx' },
  { name: 'nginxSet', what: "a browser, nginx with our settings", load: byBrowser, proxy: 'nginxSet' },
  { name: 'haproxy', what: 'a browser, HAProxy by itself', load: byBrowser, proxy: 'haproxy' },
  { name: 'haproxySet', what: 'a browser, HAProxy with those of `docker/haproxy.cfg`', load: byBrowser, proxy: 'haproxySet' },
] // prettier-ignore

/** Without those that need a proxy which is not here. */
export const shapes: readonly Shape[] = all.filter(({ proxy }) => proxy === undefined || isInstalled(proxy))

export const missingShapes = all.length - shapes.length

/** Whatever QuickLink knows in tier 1, within this of a bare socket that answers the same requests. */
const atMostToNet = 1.25

export const floorOf = (floor: 'net' | 'http', { name }: Shape): string => `${floor} ${name}`

/** Of all subjects that the table of visitors is made of. */
export const visitorNames: readonly string[] = shapes.flatMap((shape) => [
  shape.name,
  floorOf('http', shape),
  floorOf('net', shape),
])

/** What one shape of request costs, beside the two floors. */
export interface VisitorRow extends Shape {
  readonly cpuUs: number
  readonly requests: number
  readonly failed: number
  readonly toHttp: number
  /** Behind a proxy there is no bare socket. */
  readonly toNet: number | undefined
}

export function visitorRows(subjects: Readonly<Record<string, SubjectResult>>): VisitorRow[] {
  const cpuOf = (name: string): number | undefined => subjects[name]?.cpuUs.median
  return shapes.flatMap((shape) => {
    const [ours, httpUs, netUs] = [subjects[shape.name], cpuOf(floorOf('http', shape)), cpuOf(floorOf('net', shape))]
    if (ours === undefined || httpUs === undefined) return []
    const { requests, failed } = ours
    const cpuUs = ours.cpuUs.median
    return [{ ...shape, cpuUs, requests, failed, toHttp: cpuUs / httpUs, toNet: netUs && cpuUs / netUs }]
  })
}

const dearest = 'each of these ÷ a bare socket that answers the same, at most'

export function visitorChecks(subjects: Readonly<Record<string, SubjectResult>>): Check[] {
  // What the shapes with a target ask for is in tier 1.
  const wanted = visitorRows(subjects).filter(({ atMost }) => atMost !== undefined)
  const toNets = wanted.flatMap(({ toNet }) => toNet ?? [])
  return [
    ...wanted.map(({ what, toHttp, atMost }) => checkOf(`${what} ÷ bare \`node:http\``, toHttp, { atMost })),
    ...(toNets.length === 0 ? [] : [checkOf(dearest, Math.max(...toNets), { atMost: atMostToNet })]),
  ]
}

export const visitorsTable = (subjects: Readonly<Record<string, SubjectResult>>): Table => ({
  title: 'What visitors send',
  note:
    'CPU per request, medians; each shape beside a bare `node:http` server and a bare socket that answer the same requests. ' +
    'The tier 1 holds 10,000 links where nothing else is said. Wanted of the bare socket: at most ' +
    `${atMostToNet}, where QuickLink knows the link. Behind a proxy, it is the work of the server alone.`,
  head: ['what comes', 'CPU µs', '÷ bare `node:http`', 'wanted', '÷ bare socket', 'failed'],
  rows: visitorRows(subjects).map(({ what, cpuUs, toHttp, atMost, toNet = NaN, failed }) => [
    what,
    short(cpuUs),
    judged(toHttp, atMost),
    atMost === undefined ? '' : `≤ ${atMost}`,
    judged(toNet, atMost && atMostToNet),
    failed,
  ]),
})

const judged = (figure: number, atMost = Infinity): string => (figure > atMost ? `**${short(figure)}**` : short(figure))
