// An earlier commit and this one on the same Postgres and Redis, as while servers are replaced one by one, or after a way back:
// the earlier one never says where a special link leads, and what it writes to Redis never makes this one say anything wrong.
//   npm run -s previous-release -- <commit>
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../embedded/ask.ts'
import { openStand } from '../loadtest/bench/stand.ts'
import { command } from '../loadtest/report/command.ts'
import { withEarlier } from './earlier.ts'

const secret = 'https://target.example.org/'
const rounds = 40
const everyMs = 100

await command(async () => {
  const [commit] = process.argv.slice(2)
  if (commit === undefined) {
    console.error('Name the commit: npm run -s previous-release -- <commit>')
    return 2
  }
  return withEarlier(commit, (main) => beside(commit, main))
})

async function beside(commit: string, main: string): Promise<number> {
  await using stand = await openStand()
  const wrong: string[] = []
  const env = { REDIS_URL: stand.redis.url }
  const now = await stand.startServer(env)
  const before = await stand.startServer(env, main)
  const { api } = now
  const rules = [{ when: { after: '2001-01-01T00:00:00Z' }, url: `${secret}rule` }]
  await Promise.all([
    api('POST', '/links', { code: 'rules', url: `${secret}default`, rules }),
    api('POST', '/links', { code: 'password', url: `${secret}password`, password: 'correct horse' }),
    api('POST', '/links', { code: 'becomes', url: `${secret}plain` }),
  ])
  // Both hold it as a plain one before it gets its password.
  for (const { url } of [now, before]) await ask(url, '/becomes')
  await api('PATCH', '/links/becomes', { password: 'correct horse' })
  await pause(1000)
  const told: Record<string, number> = {}
  const look = async (who: 'now' | 'before', code: string, expected: string): Promise<void> => {
    const { status, headers, text } = await ask((who === 'now' ? now : before).url, `/${code}`)
    const says = String(headers.location ?? status)
    const what = `${who} says of ${code}: ${says}`
    told[what] = (told[what] ?? 0) + 1
    const leaks = who === 'before' && `${says}${text}`.includes(secret)
    if (leaks || (who === 'now' && says !== expected)) wrong.push(what)
  }
  for (let n = 0; n < rounds; n++) {
    // The earlier one first: what it writes to Redis is what this one finds.
    for (const who of ['before', 'now'] as const) {
      await look(who, 'rules', `${secret}rule`)
      await look(who, 'password', '401')
      await look(who, 'becomes', '401')
    }
    // A new version each time, whose news either may bring to Redis.
    if (n % 4 === 0) await api('PATCH', '/links/rules', { rules: [...rules] })
    if (n % 4 === 2)
      for (const code of ['rules', 'password', 'becomes']) await api('POST', '/cache/invalidate', { code })
    await pause(everyMs)
  }
  for (const [what, times] of Object.entries(told)) console.log(`${String(times).padStart(4)} × ${what}`)
  console.log(wrong.length === 0 ? `PASS beside ${commit}` : `FAIL beside ${commit}: ${wrong.length} wrong answers`)
  return wrong.length === 0 ? 0 : 1
}
