// How long the migrations since an earlier commit take with many links, and what visitors and writers of that commit's server notice
// meanwhile: one asks for any link every 10 ms, one makes a link every 200 ms.
//   npm run -s upgrade-beside -- <commit>        LINKS=100000 for less
import { ask } from '../embedded/ask.ts'
import { openStand } from '../loadtest/bench/stand.ts'
import { quantile } from '../loadtest/measure/stats.ts'
import { command } from '../loadtest/report/command.ts'
import { withDatabaseLock } from '../server/connections/migrate.ts'
import { withEarlier } from './earlier.ts'

const total = Number(process.env['LINKS'] ?? 1_000_000)
const chunk = 50_000
const beforeMs = 10_000
const ownerKey = 'ql_anUpgradeOfOneMillionLinksBesideItsVisitors'

await command(async () => {
  const [commit] = process.argv.slice(2)
  if (commit === undefined) {
    console.error('Name the commit: npm run -s upgrade-beside -- <commit>')
    return 2
  }
  return withEarlier(commit, (main) => upgrade(main))
})

async function upgrade(main: string): Promise<number> {
  const stand = await openStand()
  const { sql, postgres, redis } = stand
  try {
    const { url } = await stand.startServer({ REDIS_URL: redis.url, OWNER_KEY: ownerKey }, main)
    for (let first = 1; first <= total; first += chunk) {
      await sql.query(
        `insert into links (code, url) select 'bench-' || n, 'https://example.org/' || md5(n::text)
         from generate_series($1::bigint, least($1::bigint + ${chunk - 1}, $2)) as n`,
        [first, total],
      )
    }
    await sql.query('vacuum analyze links')
    console.log(`alone, ${beforeMs / 1000} s: ${await notice(url, pause(beforeMs))}`)
    const applied: string[] = []
    const beganMs = performance.now()
    const migrating = withDatabaseLock(
      { url: postgres.url, connectMs: 5000, onInfo: (line) => applied.push(line) },
      () => Promise.resolve(),
    )
    const noticed = await notice(url, migrating)
    await migrating
    console.log(`migrations, ${total.toLocaleString('en')} links, with that beside: ${noticed}`)
    console.log(`${((performance.now() - beganMs) / 1000).toFixed(1)} s. ${applied.join('; ')}`)
    return 0
  } finally {
    await stand.close()
  }
}

/** What is asked until then, and how it was answered. */
async function notice(url: string, until: Promise<unknown>): Promise<string> {
  const over = { yet: false }
  const ended = until.finally(() => (over.yet = true))
  const headers = { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json' }
  const visit = () => ask(url, `/bench-${1 + Math.floor(Math.random() * total)}`)
  const create = () =>
    ask(url, '/api/v1/links', { method: 'POST', headers, body: '{"url":"https://example.org/made"}' })
  const all = [steadily('visits', 10, visit, over), steadily('creates', 200, create, over)]
  await ended
  return (await Promise.all(all.map((each) => each()))).join('; ')
}

type Ask = () => ReturnType<typeof ask>

/** Nobody waits for the one before. */
function steadily(what: string, everyMs: number, one: Ask, over: { readonly yet: boolean }): () => Promise<string> {
  const asked: Promise<{ status: number | string; ms: number }>[] = []
  const timer = setInterval(() => {
    if (over.yet) return clearInterval(timer)
    const beganMs = performance.now()
    const said = one().then(
      ({ status }) => status,
      () => 'no answer',
    )
    asked.push(said.then((status) => ({ status, ms: performance.now() - beganMs })))
  }, everyMs)
  return async () => {
    const answers = await Promise.all(asked)
    const ms = answers.map((answer) => answer.ms).sort((a, b) => a - b)
    const counts = Object.entries(Object.groupBy(answers, ({ status }) => status))
    const statuses = counts.map(([status, some]) => `${some?.length ?? 0} × ${status}`).join(', ')
    const [p50, p99] = [0.5, 0.99].map((q) => quantile(ms, q).toFixed(0))
    return `${what}: ${statuses}, p50 ${p50} ms, p99 ${p99} ms, worst ${ms.at(-1)?.toFixed(0) ?? '-'} ms`
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))
