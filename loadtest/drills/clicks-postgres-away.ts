import type { Drill, DrillContext, DrillGroup } from './engine/drill.ts'
import { proven } from './engine/drill.ts'
import { killed } from './faults.ts'
import { cold, hot } from './links.ts'
import { bothDeadlinesMs, closesWithin, consequences, p99Below, trustedWithin } from './promises.ts'

const browser = (name: string): string =>
  `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) ${name} Safari/537.36`

/** Each says something of every dimension that is looked at below, and what it is called there. */
const known = [
  { says: { 'User-Agent': browser('Chrome/126.0.0.0'), Referer: 'https://news.example/a', 'Accept-Language': 'de' }, browser: 'Chrome 126', referrer: 'news.example', language: 'de' },
  { says: { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0', Referer: 'https://search.example/b', 'Accept-Language': 'en-GB' }, browser: 'Firefox 127', referrer: 'search.example', language: 'en' },
  { says: { 'User-Agent': browser('Chrome/125.0.0.0'), Referer: 'https://mail.example/c', 'Accept-Language': 'fr-CH,fr' }, browser: 'Chrome 125', referrer: 'mail.example', language: 'fr' },
] as const // prettier-ignore
const dimensions = ['browser', 'referrer', 'language'] as const

/** Asked for by the load alone, and soon in every cache. */
const seen: DrillGroup = { name: 'seen', share: 10, prefix: 'seen-', count: 12, pick: 'uniform', cold: true, visitors: known.map(({ says }) => says) } // prettier-ignore

interface Stats {
  readonly total: number
  readonly detailed: number
  readonly unknown: { readonly total: number }
  readonly top: readonly { readonly value: string; readonly total: number }[]
}

/** What anybody is told who asks, link by link, held against what the load was answered. */
async function askForVisits({ appliance, load, note }: DrillContext): Promise<void> {
  const followed = Array.from({ length: seen.count }, () => 0)
  for (const { group, code, status } of load.answers) {
    if (group === seen.name && status === 302) followed[Number(code.slice(seen.prefix.length))]!++
  }
  const ask = async (link: number, dimension: string): Promise<Stats> => {
    const { status, text } = await appliance.api('GET', `/links/${seen.prefix}${link}/stats?dimension=${dimension}`)
    if (status !== 200) throw new Error(`Statistics were answered ${status}: ${text}`)
    return JSON.parse(text) as Stats
  }
  const all = followed.reduce((sum, n) => sum + n, 0)
  const told = async (): Promise<{ lost: number; unseen: number; untold: number; wrong: number }> => {
    const sums = { lost: 0, unseen: 0, untold: 0, wrong: 0 }
    for (const [link, came] of followed.entries()) {
      const visitor = known[link % known.length]!
      for (const dimension of dimensions) {
        const { total, detailed, unknown, top } = await ask(link, dimension)
        const named = top.reduce((sum, value) => sum + value.total, 0)
        const right = top.find(({ value }) => value === visitor[dimension])?.total ?? 0
        if (dimension === 'browser') sums.lost += came - total
        if (dimension === 'browser') sums.unseen += total - detailed
        sums.untold += Math.max(0, unknown.total - (total - detailed))
        sums.wrong += named - right
      }
    }
    return sums
  }
  let sums = { lost: NaN, unseen: NaN, untold: NaN, wrong: NaN }
  await proven(async () => (sums = await told()).lost <= 0, 10_000)
  note('visits lost', sums.lost)
  note('visits untold', sums.untold)
  note('visits wrong', sums.wrong)
  note('share looked at', (100 * (all - sums.unseen)) / all)
}

export const clicksPostgresAway: Drill = {
  name: 'clicks-postgres-away',
  claim: 'Postgres is killed while links are followed. Every link that a cache knows goes on, every click arrives afterwards, and each dimension of what is told of visits adds up to what came.',
  isOfCounts: true,
  load: { rate: 300, groups: [hot, seen, { ...cold, may: [503] }] },
  ...killed('postgres', 12),
  during: [
    {
      what: 'clicks that arrived in Postgres meanwhile, of those that were made',
      figure: ({ grewDuringFault }) => (100 * grewDuringFault('quicklink_clicks_persisted_total')) / grewDuringFault('quicklink_redirects_total', { status: '302' }),
      unit: '%',
      atMost: 50,
    },
    p99Below('p99 of links in a cache', ({ fault }) => fault.of('seen'), bothDeadlinesMs),
  ],
  atEnd: askForVisits,
  after: [
    { what: 'visits lost, of those whose links were followed', figure: ({ noted }) => noted('visits lost'), atMost: 0, atLeast: 0 },
    { what: 'visits that were looked at', figure: ({ noted }) => noted('share looked at'), unit: '%', atLeast: 50, evidence: true },
    { what: 'visits of which a dimension says less than was seen', figure: ({ noted }) => noted('visits untold'), atMost: 0 },
    { what: 'visits of which a dimension says something else than was so', figure: ({ noted }) => noted('visits wrong'), atMost: 0 },
    closesWithin('postgres', 2000),
    trustedWithin(3000),
  ],
  alerts: ['QuickLinkPostgresDown'],
  mayRing: consequences.postgres,
} // prettier-ignore
