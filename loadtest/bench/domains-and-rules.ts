// What plain links pay for what they are not: once there are further domains, and where one link in ten has rules. CPU of the server per
// request, with a browser's headers, all in tier 1. What a machine makes of one second and the next is far more than what is looked for, so
// those that are compared take turns of some milliseconds; and what it makes of one process and the next is more, too, so each time they are
// other processes. The two that know of no domain and no rule have to cost the same, or nothing is shown.
//   npm run -s bench:domains-and-rules        REPETITIONS=1 makes it shorter
import { ask } from '../../embedded/ask.ts'
import { command } from '../report/command.ts'
import { numberOf } from '../report/knobs.ts'
import { openArena, trusted, type Arena } from './arena.ts'
import { browserHeaders, type Load } from './loads.ts'
import type { BenchServer } from './stand.ts'
import { cpuSecondsOf } from '../measure/cpu.ts'
import { quartilesOf, spreadOf } from '../measure/stats.ts'
import { drive } from './driver.ts'
import { checkAll, repetitionsRange, secondsRange, type Subject } from './subjects.ts'

/** Few enough that each is asked for several times a second. */
const count = 500
/** As much as further domains may cost. */
const noise = 0.05
const warmUpS = 2
/** No part or multiple of what a server does by the clock. */
const sliceMs = 47
const domains = ['go.bench.example', 'to.bench.example', 'at.bench.example'] as const
const url = 'https://example.org/a/page/of/usual/length?from=quicklink&n='
const rules = [{ when: { language: 'de' }, url: `${url}de` }, { when: { device: 'mobile' }, url: `${url}m` }, { url }]

const insert = (prefix: string, hasRules: string): [text: string, values: unknown[]] => [
  `insert into links (code, url, rules)
   select $1 || n, case when ${hasRules} then '' else $2 || n end, case when ${hasRules} then $3::jsonb end
   from generate_series(0, $4::integer - 1) n`,
  [prefix, url, JSON.stringify(rules), count],
]

async function server(arena: Arena): Promise<BenchServer> {
  // A machine that is busy with other work is not a Postgres that does not answer: what is measured is in tier 1. Of visits so many
  // a second are looked at, however many come: that is no part of what a redirect costs.
  const env = { LOCAL_CACHE_MAX: String(10 * count), DB_TIMEOUT_MS: '2000', VISITS: 'off' }
  const one = await arena.quickLink({ REDIS_URL: arena.stand.redis.url, ...env })
  await trusted(one)
  return one
}

async function makeDomains(arena: Arena, { url }: BenchServer): Promise<void> {
  for (const host of domains) {
    const headers = { Authorization: `Bearer ${arena.key}`, 'Content-Type': 'application/json' }
    const made = await ask(url, '/api/v1/domains', { method: 'POST', headers, body: JSON.stringify({ host }) })
    if (made.status !== 201) throw new Error(`POST /domains was answered ${made.status}: ${made.text}`)
  }
}

const visit = (prefix: string, host?: string): Load => ({
  paths: { kind: 'uniform', prefix, count },
  headers: browserHeaders,
  status: 302,
  ...(host === undefined ? {} : { host }),
})

const kinds = {
  none: 'no domain, no rule',
  default: 'three further domains, a link of the default one',
  further: 'three further domains, a link of one',
  mix: 'one link in ten has rules',
  rules: 'every link has rules',
}
type Kind = keyof typeof kinds

/** Those that take turns: the first two do the same. */
type Group = readonly (Subject & { readonly kind: Kind })[]

/** Servers that nobody has asked anything yet. */
async function groups(plain: Arena, other: Arena): Promise<Group[]> {
  const of = async (kind: Kind, arena: Arena, load: Load): Promise<Group[number]> => {
    return { kind, name: kind, what: kinds[kind], server: await server(arena), load }
  }
  const none = [await of('none', plain, visit('link-')), await of('none', plain, visit('link-'))]
  return [
    [...none, await of('default', other, visit('link-')), await of('further', other, visit('link-', domains[1]))],
    [...none, await of('mix', plain, visit('mix-')), await of('rules', plain, visit('rules-'))],
  ]
}

async function makeLinks(plain: Arena, other: Arena): Promise<void> {
  const [first, second] = [await server(plain), await server(other)]
  await plain.stand.sql.query(...insert('link-', 'false'))
  await plain.stand.sql.query(...insert('mix-', 'n % 10 = 5'))
  await plain.stand.sql.query(...insert('rules-', 'true'))
  await makeDomains(other, second)
  await other.stand.sql.query(...insert('link-', 'false'))
  await other.stand.sql.query(...insert(`${domains[1]}/link-`, 'false'))
  await Promise.all([first.stop(), second.stop()])
}

/** µs of CPU per request, of each of the group. */
async function turns({ cores }: Arena, group: Group, seconds: number): Promise<number[]> {
  const slices = Math.round((seconds * 1000) / sliceMs)
  const servers = group.map(({ server, load }) => ({ url: server.url, load }))
  const pids = group.map(({ server }) => server.pid)
  const before = cpuSecondsOf(pids)
  const driven = await drive({ servers, connections: 32, slices, sliceMs }, cores?.generator)
  const after = cpuSecondsOf(pids)
  const failed = driven.servers.reduce((sum, one) => sum + one.failed, 0)
  if (failed > 0) throw new Error(`${failed} requests were not answered as they should be`)
  return group.map((_, n) => ((after[n]! - before[n]!) * 1e6) / driven.servers[n]!.requests)
}

/** Its median, and what half of them lie between, where there are enough to say. */
const told = (values: readonly number[]): string => {
  const half = quartilesOf(values)?.map((value) => value.toFixed(2))
  return `${spreadOf(values).median.toFixed(3)}${half ? ` (${half.join(' to ')})` : ''}`
}

await command(async () => {
  const repetitions = numberOf(process.env, 'REPETITIONS', repetitionsRange) ?? 10
  const seconds = numberOf(process.env, 'SECONDS', secondsRange) ?? 2
  await using plain = await openArena()
  await using other = await openArena()
  await makeLinks(plain, other)
  const costs: Record<Kind, number[]> = { none: [], default: [], further: [], mix: [], rules: [] }
  const ratios: Record<Kind, number[]> = { none: [], default: [], further: [], mix: [], rules: [] }
  const [parts, alike, hosts]: [number[], number[], number[]] = [[], [], []]
  for (let n = 0; n < repetitions; n++) {
    const all = await groups(plain, other)
    await checkAll(all.flat())
    for (const group of all) {
      await turns(plain, group, warmUpS)
      const each = await turns(plain, group, seconds)
      const [one = NaN, another = NaN, third = NaN, fourth = NaN] = each
      const none = (one + another) / 2
      alike.push(another / one)
      for (const [i, { kind }] of group.entries()) {
        costs[kind].push(each[i]!)
        ratios[kind].push(each[i]! / none)
      }
      if (group[2]?.kind === 'mix') parts.push(third / (0.9 * none + 0.1 * fourth))
      else hosts.push(fourth / third)
    }
    await Promise.all([...new Set(all.flat().map((one) => one.server as BenchServer))].map((one) => one.stop()))
  }
  console.log('| what is asked for | µs of CPU | ÷ no domain, no rule: median (half of the turns) |\n|---|---|---|')
  for (const [kind, what] of Object.entries(kinds) as [Kind, string][]) {
    console.log(`| ${what} | ${spreadOf(costs[kind]).median.toFixed(2)} | ${told(ratios[kind])} |`)
  }
  console.log(`\nA link of a further domain ÷ one of the default, where there are both: ${told(hosts)}`)
  console.log(`The mix ÷ what its parts cost alone: ${told(parts)}`)
  console.log(`Two servers that do the same, ÷: ${told(alike)}`)
  console.log(`${repetitions} times other processes, ${seconds} s of each in turns of ${sliceMs} ms`)
  if (Math.abs(spreadOf(alike).median - 1) > noise) {
    console.log('INCONCLUSIVE: two servers that do the same do not cost the same on this machine')
    return 2
  }
  return [ratios.default, ratios.further, hosts, parts].some((values) => spreadOf(values).median > 1 + noise) ? 1 : 0
})
