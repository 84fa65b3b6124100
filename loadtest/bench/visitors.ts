// What visitors really send, each shape beside the two floors that answer the same requests.
import { hot } from './arena.ts'
import { browserHeaders, type Load } from './loads.ts'
import { isInstalled, type ProxyName } from './proxies.ts'
import type { VisitorRow, Result } from './results.ts'

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
export const atMostToNet = 1.25

export const floorOf = (floor: 'net' | 'http', { name }: Shape): string => `${floor} ${name}`

/** Of all subjects that the table of visitors is made of. */
export const visitorNames: readonly string[] = shapes.flatMap((shape) => [
  shape.name,
  floorOf('http', shape),
  floorOf('net', shape),
])

export function visitorRows(subjects: Result['subjects']): VisitorRow[] {
  return shapes.flatMap((shape) => {
    const { what, atMost: wanted = null } = shape
    const [ours, http, net] = [subjects[shape.name], subjects[floorOf('http', shape)], subjects[floorOf('net', shape)]]
    if (ours === undefined || http === undefined) return []
    const [cpuUs, httpUs, netUs] = [ours.cpuUs.median, http.cpuUs.median, net?.cpuUs.median]
    const toNet = netUs === undefined ? null : cpuUs / netUs
    const netToHttp = netUs === undefined ? null : netUs / httpUs
    return [{ what, cpuUs, toHttp: cpuUs / httpUs, wanted, netToHttp, toNet, failed: ours.failed }]
  })
}
