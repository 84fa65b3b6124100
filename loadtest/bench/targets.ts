// What was promised of the hot path, each as a ratio within one run, and whether this run kept it.
import type { Result, Target } from './results.ts'
import { atMostToNet } from './visitors.ts'

type Measured = Pick<
  Result,
  'subjects' | 'visitors' | 'cutOffLookupsPerS' | 'hotKeyReadsPerS' | 'tier1Entries' | 'openLoop'
>

interface Promised {
  readonly what: string
  /** NaN: this run did not measure it. */
  readonly figure: number
  readonly unit?: string
  readonly atMost?: number
  readonly atLeast?: number
}

export function judge(measured: Measured): Target[] {
  return promises(measured)
    .filter(({ figure }) => !Number.isNaN(figure))
    .map(({ what, figure, unit = 'x', atMost, atLeast }) => ({
      what,
      wanted: atMost !== undefined ? `≤ ${trim(atMost)}` : `≥ ${trim(atLeast ?? NaN)}`,
      measured: figure,
      unit,
      met: figure <= (atMost ?? Infinity) && figure >= (atLeast ?? -Infinity),
    }))
}

const trim = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 2 })

function promises(measured: Measured): Promised[] {
  const { subjects, visitors, cutOffLookupsPerS, hotKeyReadsPerS, tier1Entries, openLoop } = measured
  const cpu = (name: string): number => subjects[name]?.cpuUs.median ?? NaN
  // An absent code costs Redis a look, like any hit there, and Postgres a place in a batch: what tier 3 takes beyond a hit.
  const scanBound = cpu('tier2') + cpu('tier3') - cpu('raw')
  const half = openLoop.find(({ share, door }) => share === 0.5 && door === 'raw')
  const seen = visitors.flatMap(({ what, toHttp, wanted }) =>
    wanted === null ? [] : [{ what: `${what} ÷ bare \`node:http\``, figure: toHttp, atMost: wanted }],
  )
  // What the shapes with a target ask for is in tier 1.
  const toNet = visitors.flatMap((row) => (row.wanted === null ? [] : [row.toNet ?? NaN]))
  const dearest = toNet.length === 0 ? NaN : Math.max(...toNet)
  return [
    ...seen,
    { what: 'each of these ÷ a bare socket that answers the same, at most', figure: dearest, atMost: atMostToNet },
    { what: 'lookups of one hot link while Postgres is away', figure: cutOffLookupsPerS, unit: '/s', atMost: 10 },
    { what: 'tier-1 hit ÷ bare `node:http`, CPU per request', figure: cpu('raw') / cpu('http'), atMost: 0.7 },
    { what: "the same with a browser's headers", figure: cpu('rawBrowser') / cpu('httpBrowser'), atMost: 0.55 },
    { what: '`FRONT_DOOR=http` ÷ bare `node:http`', figure: cpu('frontHttp') / cpu('http'), atMost: 1.15 },
    { what: 'tier-1 hit ÷ raw `net` responder', figure: cpu('raw') / cpu('net'), atMost: 1.35 },
    { what: 'tier-1 hit, p99 at half of the capacity ÷ the bare socket in the same seconds', figure: half?.p99ToFloor ?? NaN, atMost: 1.5 },
    { what: 'tier-2 hit ÷ bare `node:http`, CPU per request', figure: cpu('tier2') / cpu('http'), atMost: 3 },
    { what: "Redis reads of a hot link's key, per worker", figure: hotKeyReadsPerS, unit: '/s', atMost: 3 },
    { what: "tier 3, Redis off: redirects per second of the server's CPU", figure: 1e6 / cpu('tier3'), unit: '/s', atLeast: 15_000 },
    { what: 'two workers ÷ one worker, by CPU time', figure: (2 * cpu('raw')) / cpu('two'), atLeast: 1.9 },
    { what: '404 scan ÷ (tier-2 hit + its part of a batched query)', figure: cpu('scan') / scanBound, atMost: 1 },
    { what: 'entries of tier 1 after a 404 scan ÷ their bound', figure: tier1Entries.held / tier1Entries.bound, atMost: 1 },
  ] // prettier-ignore
}
