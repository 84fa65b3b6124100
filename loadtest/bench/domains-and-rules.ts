// What plain links pay for what they are not: once there are further domains, and where one link in ten has rules. CPU of the server per
// request, with a browser's headers, all in tier 1, each asked in turn, again and again. One server knows of no domain and no rule; another
// one, which knows of rules only, has to cost the same for plain links: by how much it does not is what the machine makes of it.
//   npm run -s bench:domains-and-rules        SECONDS and REPETITIONS make it shorter
import { ask } from '../../embedded/ask.ts'
import { command } from '../report/command.ts'
import { numberOf } from '../report/knobs.ts'
import { openArena, trusted, type Arena } from './arena.ts'
import { browserHeaders, type Load } from './loads.ts'
import type { BenchServer } from './stand.ts'
import { checkAll, measureAll, repetitionsRange, secondsRange, type Subject } from './subjects.ts'

const count = 2000
/** As much as further domains may cost. */
const noise = 0.05
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
  // A machine that is busy with other work is not a Postgres that does not answer: what is measured is in tier 1.
  const env = { REDIS_URL: arena.stand.redis.url, LOCAL_CACHE_MAX: String(10 * count), DB_TIMEOUT_MS: '2000' }
  const one = await arena.quickLink(env)
  await arena.stand.sql.query(...insert('link-', 'false'))
  await trusted(one)
  return one
}

async function withDomains(arena: Arena): Promise<BenchServer> {
  const one = await server(arena)
  for (const host of domains) {
    const headers = { Authorization: `Bearer ${arena.key}`, 'Content-Type': 'application/json' }
    const made = await ask(one.url, '/api/v1/domains', { method: 'POST', headers, body: JSON.stringify({ host }) })
    if (made.status !== 201) throw new Error(`POST /domains was answered ${made.status}: ${made.text}`)
  }
  await arena.stand.sql.query(...insert(`${domains[1]}/link-`, 'false'))
  return one
}

async function withRules(arena: Arena): Promise<BenchServer> {
  const one = await server(arena)
  await arena.stand.sql.query(...insert('mix-', 'n % 10 = 5'))
  await arena.stand.sql.query(...insert('rules-', 'true'))
  return one
}

const visit = (prefix: string, host?: string): Load => ({
  paths: { kind: 'uniform', prefix, count },
  headers: browserHeaders,
  status: 302,
  ...(host === undefined ? {} : { host }),
})

async function subjects(arenas: readonly [Arena, Arena, Arena]): Promise<Subject[]> {
  const [none, some, mixed] = [await server(arenas[0]), await withDomains(arenas[1]), await withRules(arenas[2])]
  return [
    { name: 'none', what: 'no domain, no rule', server: none, load: visit('link-') },
    { name: 'default', what: 'three further domains, a link of the default one', server: some, load: visit('link-') },
    { name: 'further', what: 'three further domains, a link of one', server: some, load: visit('link-', domains[1]) },
    { name: 'beside', what: 'a plain link beside those with rules', server: mixed, load: visit('link-') },
    { name: 'mix', what: 'one link in ten has rules', server: mixed, load: visit('mix-') },
    { name: 'rules', what: 'every link has rules', server: mixed, load: visit('rules-') },
  ]
}

await command(async () => {
  const repetitions = numberOf(process.env, 'REPETITIONS', repetitionsRange) ?? 7
  const seconds = numberOf(process.env, 'SECONDS', secondsRange) ?? 2
  const arenas = [await openArena(), await openArena(), await openArena()] as const
  try {
    const all = await subjects(arenas)
    await checkAll(all)
    const measured = await measureAll(arenas[0], all, { repetitions, seconds, warmUpS: 3 }, () => undefined)
    const cpuUs = (name: string): number => measured[name]?.cpuUs.median ?? NaN
    console.log('| what is asked for | µs of CPU (least) | ÷ no domain, no rule |\n|---|---|---|')
    for (const { name, what } of all) {
      console.log(
        `| ${what} | ${cpuUs(name).toFixed(2)} (${measured[name]?.cpuUs.min.toFixed(2) ?? '-'}) | ${(cpuUs(name) / cpuUs('none')).toFixed(3)} |`,
      )
    }
    const together = 0.9 * cpuUs('none') + 0.1 * cpuUs('rules')
    console.log(`\nThe mix ÷ what its parts cost alone: ${(cpuUs('mix') / together).toFixed(3)}`)
    const failed = all.reduce((sum, { name }) => sum + (measured[name]?.failed ?? 0), 0)
    console.log(`${failed} requests failed; median of ${repetitions} rounds of ${seconds} s each`)
    const apart = Math.abs(cpuUs('beside') / cpuUs('none') - 1)
    if (apart <= noise) return 0
    console.log(`INCONCLUSIVE: two servers that do the same are ${(100 * apart).toFixed(0)} % apart on this machine`)
    return 2
  } finally {
    await Promise.all(arenas.map((arena) => arena.close()))
  }
})
