// How long the migrations since an earlier commit take with many links, and what visitors and writers of that commit's server notice
// meanwhile: one asks for any link every 10 ms, one makes a link every 200 ms.
//   npm run -s upgrade-beside -- <commit>        LINKS=100000 for less
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../embedded/ask.ts'
import { beside, told } from '../loadtest/bench/beside.ts'
import { openStand } from '../loadtest/bench/stand.ts'
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
  await using stand = await openStand()
  const { sql, postgres, redis } = stand
  const { url } = await stand.startServer({ REDIS_URL: redis.url, OWNER_KEY: ownerKey }, main)
  /** What is asked until then, and how it was answered. */
  const notice = async (until: Promise<unknown>): Promise<string> => {
    const headers = { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json' }
    const body = '{"url":"https://example.org/made"}'
    const [visits, creates] = await Promise.all([
      beside(until, 10, () => ask(url, `/bench-${1 + Math.floor(Math.random() * total)}`)),
      beside(until, 200, () => ask(url, '/api/v1/links', { method: 'POST', headers, body })),
    ])
    return `visits: ${told(visits)}; creates: ${told(creates)}`
  }
  for (let first = 1; first <= total; first += chunk) {
    await sql.query(
      `insert into links (code, url) select 'bench-' || n, 'https://example.org/' || md5(n::text)
       from generate_series($1::bigint, least($1::bigint + ${chunk - 1}, $2)) as n`,
      [first, total],
    )
  }
  await sql.query('vacuum analyze links')
  console.log(`alone, ${beforeMs / 1000} s: ${await notice(pause(beforeMs))}`)
  const applied: string[] = []
  const beganMs = performance.now()
  const migrating = withDatabaseLock({ url: postgres.url, connectMs: 5000, onInfo: (line) => applied.push(line) }, () =>
    Promise.resolve(),
  )
  const noticed = await notice(migrating)
  await migrating
  console.log(`migrations, ${total.toLocaleString('en')} links, with that beside: ${noticed}`)
  console.log(`${((performance.now() - beganMs) / 1000).toFixed(1)} s. ${applied.join('; ')}`)
  return 0
}
