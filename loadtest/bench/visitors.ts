// What visitors really send, each shape beside the two floors that answer the same requests.
import { hot } from './arena.ts'
import { browserHeaders, type Load } from './loads.ts'
import type { VisitorRow, Result } from './results.ts'

export interface Shape {
  readonly name: string
  readonly what: string
  readonly load: Load
  /** QuickLink ÷ bare `node:http`, CPU per request. */
  readonly atMost?: number
  readonly server?: 'raw' | 'visitors' | 'cutOff'
}

const some: Load = { paths: { kind: 'zipf', prefix: 'link-', count: 2000 }, headers: [], statuses: [302] }
const many: Load = { ...some, paths: { kind: 'zipf', prefix: 'link-', count: 100_000 } }
const byBrowser: Load = { ...some, headers: browserHeaders }
const closing: Load = { ...some, headers: [['Connection', 'close']], closes: true }

export const shapes: readonly Shape[] = [
  { name: 'zipf', what: 'Zipf over 2,000 links, plain', load: some, atMost: 0.85 },
  { name: 'zipfBrowser', what: "with a browser's headers", load: byBrowser, atMost: 0.75 },
  { name: 'zipfTe', what: 'a browser, and `TE: trailers`', load: { ...some, headers: [...browserHeaders, ['TE', 'trailers']] }, atMost: 0.75 },
  { name: 'zipfAbsent', what: 'a browser, one in 100 for an absent code', load: { ...byBrowser, absentEvery: 100, statuses: [302, 404] }, atMost: 0.8 },
  { name: 'zipfHead', what: 'a browser, one in 20 a HEAD', load: { ...byBrowser, headEvery: 20 }, atMost: 0.75 },
  { name: 'zipfClose', what: 'plain, `Connection: close`', load: closing, atMost: 1.05 },
  { name: 'cutOff', what: 'one hot link, Redis off, Postgres away', load: hot, atMost: 0.8, server: 'cutOff' },
  { name: 'zipfWide', what: 'Zipf over 100,000 links, a tier 1 of 1,000', load: many, server: 'raw' },
] // prettier-ignore

export const floorOf = (floor: 'net' | 'http', { name }: Shape): string => `${floor} ${name}`

/** Of all subjects that the table of visitors is made of. */
export const visitorNames: readonly string[] = shapes.flatMap((shape) => [
  shape.name,
  floorOf('http', shape),
  floorOf('net', shape),
])

export function visitorRows(subjects: Result['subjects']): VisitorRow[] {
  const cpu = (name: string): number => subjects[name]?.cpuUs.median ?? NaN
  return shapes
    .map((shape) => ({
      what: shape.what,
      cpuUs: cpu(shape.name),
      toHttp: cpu(shape.name) / cpu(floorOf('http', shape)),
      wanted: shape.atMost ?? null,
      netToHttp: cpu(floorOf('net', shape)) / cpu(floorOf('http', shape)),
      toNet: cpu(shape.name) / cpu(floorOf('net', shape)),
    }))
    .filter(({ toHttp }) => !Number.isNaN(toHttp))
}
