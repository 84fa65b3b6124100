// What was promised of the hot path, each as a ratio within one run, and whether this run kept it.
import { checkOf, type Bounds, type Check } from '../report/report.ts'
import type { SubjectResult } from './subjects.ts'
import { visitorChecks } from './visitors.ts'

interface Measured {
  readonly subjects: Readonly<Record<string, SubjectResult>>
  /** Lookups per second of one hot link while Postgres is away. */
  readonly cutOffLookupsPerS: number
  readonly hotKeyReadsPerS: number
  readonly tier1Share: number
}

/** Without those whose subjects were not measured. */
export function targets({ subjects, cutOffLookupsPerS, hotKeyReadsPerS, tier1Share }: Measured): Check[] {
  const cpu = (name: string): number => subjects[name]?.cpuUs.median ?? NaN
  // An absent code costs Redis a look, like any hit there, and Postgres a place in a batch: what tier 3 takes beyond a hit.
  const scanBound = cpu('tier2') + cpu('tier3') - cpu('raw')
  const promised: [string, number, Bounds][] = [
    ['lookups of one hot link while Postgres is away', cutOffLookupsPerS, { unit: '/s', atMost: 10 }],
    ['tier-1 hit ÷ bare `node:http`, CPU per request', cpu('raw') / cpu('http'), { atMost: 0.7 }],
    ["the same with a browser's headers", cpu('rawBrowser') / cpu('httpBrowser'), { atMost: 0.55 }],
    ['a hot link with visits ÷ `VISITS=off`, front door', cpu('rawBrowser') / cpu('rawUnseen'), { atMost: 1.15 }],
    ['the same, `FRONT_DOOR=http`', cpu('frontHttpBrowser') / cpu('frontHttpUnseen'), { atMost: 1.15 }],
    ['`FRONT_DOOR=http` ÷ bare `node:http`', cpu('frontHttp') / cpu('http'), { atMost: 1.15 }],
    ['tier-1 hit ÷ raw `net` responder', cpu('raw') / cpu('net'), { atMost: 1.35 }],
    ['tier-2 hit ÷ bare `node:http`, CPU per request', cpu('tier2') / cpu('http'), { atMost: 3 }],
    ["Redis reads of a hot link's key, per worker", hotKeyReadsPerS, { unit: '/s', atMost: 3 }],
    [
      "tier 3, Redis off: redirects per second of the server's CPU",
      1e6 / cpu('tier3'),
      { unit: '/s', atLeast: 15_000 },
    ],
    ['two workers ÷ one worker, by CPU time', (2 * cpu('raw')) / cpu('two'), { atLeast: 1.9 }],
    ['404 scan ÷ (tier-2 hit + its part of a batched query)', cpu('scan') / scanBound, { atMost: 1 }],
    ['entries of tier 1 after a 404 scan ÷ their bound', tier1Share, { atMost: 1 }],
  ]
  const measured = promised.filter(([, figure]) => !Number.isNaN(figure))
  return [...visitorChecks(subjects), ...measured.map(([what, figure, bounds]) => checkOf(what, figure, bounds))]
}
