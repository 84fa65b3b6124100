// What plain links pay for what they are not: once there are further domains, and where one link in ten has rules. CPU of the server per
// request, with a browser's headers, all in tier 1. What a machine makes of one process and the next, and of one second and the next, is more
// than what is looked for. So there are two servers of each kind, all are asked within each round, in turn forwards and backwards, and what is
// told is the median of the rounds' ratios. The two that know of no domain and no rule have to cost the same.
//   npm run -s bench:domains-and-rules        SECONDS and REPETITIONS make it shorter
import { ask } from '../../embedded/ask.ts'
import { command } from '../report/command.ts'
import { numberOf } from '../report/knobs.ts'
import { openArena, trusted, type Arena } from './arena.ts'
import { browserHeaders, type Load } from './loads.ts'
import type { BenchServer } from './stand.ts'
import { quartilesOf, spreadOf } from '../measure/stats.ts'
import { checkAll, measure, repetitionsRange, secondsRange, type Run, type Subject } from './subjects.ts'

const count = 2000
/** As much as further domains may cost. */
const noise = 0.05
const warmUpS = 2
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

type Pair = readonly [BenchServer, BenchServer]

/** Two servers of the same links. */
async function pairOf(
  arena: Arena,
  hosts: readonly string[],
  links: readonly (readonly [string, string])[],
): Promise<Pair> {
  const first = await server(arena)
  for (const host of hosts) {
    const headers = { Authorization: `Bearer ${arena.key}`, 'Content-Type': 'application/json' }
    const made = await ask(first.url, '/api/v1/domains', { method: 'POST', headers, body: JSON.stringify({ host }) })
    if (made.status !== 201) throw new Error(`POST /domains was answered ${made.status}: ${made.text}`)
  }
  for (const [prefix, hasRules] of links) await arena.stand.sql.query(...insert(prefix, hasRules))
  return [first, await server(arena)]
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
  beside: 'a plain link beside those with rules',
  mix: 'one link in ten has rules',
  rules: 'every link has rules',
}
type Kind = keyof typeof kinds

interface Asked extends Subject {
  readonly kind: Kind
}

async function subjects(arenas: readonly [Arena, Arena, Arena]): Promise<Asked[]> {
  const none = await pairOf(arenas[0], [], [['link-', 'false']])
  const some = await pairOf(arenas[1], domains, [
    ['link-', 'false'],
    [`${domains[1]}/link-`, 'false'],
  ])
  const mixed = await pairOf(
    arenas[2],
    [],
    [
      ['link-', 'false'],
      ['mix-', 'n % 10 = 5'],
      ['rules-', 'true'],
    ],
  )
  const of = (kind: Kind, servers: Pair, load: Load): Asked[] =>
    servers.map((server, n) => ({ kind, name: `${kind} ${n}`, what: kinds[kind], server, load }))
  return [
    of('none', none, visit('link-')),
    of('default', some, visit('link-')),
    of('further', some, visit('link-', domains[1])),
    of('beside', mixed, visit('link-')),
    of('mix', mixed, visit('mix-')),
    of('rules', mixed, visit('rules-')),
  ].flat()
}

/** CPU per request of one round, by name. */
type Round = ReadonlyMap<string, Run>

async function roundsOf(
  arena: Arena,
  all: readonly Asked[],
  { seconds, repetitions }: { seconds: number; repetitions: number },
): Promise<Round[]> {
  for (const one of all) await measure(arena, one, warmUpS)
  const rounds: Round[] = []
  for (let n = 0; n < repetitions; n++) {
    const round = new Map<string, Run>()
    for (const one of n % 2 === 0 ? all : all.toReversed()) round.set(one.name, await measure(arena, one, seconds))
    rounds.push(round)
  }
  return rounds
}

const cpuUs = (round: Round, name: string): number => round.get(name)?.cpuUs ?? NaN
const ofKind = (round: Round, kind: Kind): number => (cpuUs(round, `${kind} 0`) + cpuUs(round, `${kind} 1`)) / 2

/** Its median, and what half of the rounds lie between. */
const told = (values: readonly number[]): string => {
  const [from = NaN, to = NaN] = quartilesOf(values) ?? []
  return `${spreadOf(values).median.toFixed(3)} (${from.toFixed(2)} to ${to.toFixed(2)})`
}

await command(async () => {
  const repetitions = numberOf(process.env, 'REPETITIONS', repetitionsRange) ?? 16
  const seconds = numberOf(process.env, 'SECONDS', secondsRange) ?? 0.5
  const arenas = [await openArena(), await openArena(), await openArena()] as const
  try {
    const all = await subjects(arenas)
    await checkAll(all)
    const rounds = await roundsOf(arenas[0], all, { repetitions, seconds })
    const ratios = (kind: Kind): number[] => rounds.map((round) => ofKind(round, kind) / ofKind(round, 'none'))
    console.log('| what is asked for | µs of CPU | ÷ no domain, no rule: median (half of the rounds) |\n|---|---|---|')
    for (const [kind, what] of Object.entries(kinds) as [Kind, string][]) {
      const { median } = spreadOf(rounds.map((round) => ofKind(round, kind)))
      console.log(`| ${what} | ${median.toFixed(2)} | ${told(ratios(kind))} |`)
    }
    const parts = rounds.map(
      (round) => ofKind(round, 'mix') / (0.9 * ofKind(round, 'none') + 0.1 * ofKind(round, 'rules')),
    )
    console.log(`\nThe mix ÷ what its parts cost alone: ${told(parts)}`)
    const alike = rounds.map((round) => cpuUs(round, 'none 1') / cpuUs(round, 'none 0'))
    console.log(`Two servers that do the same, ÷: ${told(alike)}`)
    const failed = rounds.flatMap((round) => [...round.values()]).reduce((sum, run) => sum + run.failed, 0)
    console.log(`${failed} requests failed; ${repetitions} rounds of ${seconds} s each`)
    const dear = [ratios('default'), ratios('further'), ratios('beside'), parts].some(
      (values) => spreadOf(values).median > 1 + noise,
    )
    if (Math.abs(spreadOf(alike).median - 1) > noise) {
      console.log('INCONCLUSIVE: two servers that do the same do not cost the same on this machine')
      return 2
    }
    return dear || failed > 0 ? 1 : 0
  } finally {
    await Promise.all(arenas.map((arena) => arena.close()))
  }
})
