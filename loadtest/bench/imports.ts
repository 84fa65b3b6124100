// What an import of many links takes, and what redirects notice of it: the same load before it, beside it, beside the same file again with
// onConflict=replace, which changes nothing that visitors notice, and beside a file that leads all of them elsewhere. Latencies are of a client on the same machine, so the ratio counts, and not the figure.
//   npm run -s bench:imports      LINKS=100000 for less
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import { cpuSecondsWithEnded } from '../measure/cpu.ts'
import { quantile } from '../measure/stats.ts'
import { beside } from './beside.ts'
import { openStand } from './stand.ts'

const total = Number(process.env['LINKS'] ?? 1_000_000)
const perSecond = 100

interface Import {
  readonly id: string
  readonly state: string
  readonly created: number
  readonly replaced: number
}

await using stand = await openStand()
const server = await stand.startServer({ REDIS_URL: stand.redis.url, WORKERS: '2' })
const { api } = server
for (let n = 0; n < 100; n++) await api('POST', '/links', { url: 'https://example.org/', code: `hot-${n}` })

/** Redirects at a steady rate until `work` is done; and how often Redis was not trusted. */
const visited = async (work: Promise<unknown>) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 })
  let [isOver, distrusted, looks] = [false, 0, 0]
  void work.finally(() => (isOver = true)).catch(() => undefined)
  const watching = (async () => {
    for (; !isOver; await pause(500)) {
      const { text } = await ask(server.opsUrl, '/metrics')
      const age = Number(/^quicklink_trust_age_seconds (\S+)$/m.exec(text)?.[1])
      looks++
      if (age > 0.8) distrusted++
    }
  })()
  const { ms, statuses } = await beside(work, 1000 / perSecond, (n) => ask(server.url, `/hot-${n % 100}`, { agent }))
  await watching
  agent.destroy()
  const wrong = ms.length - (statuses[302] ?? 0)
  return { p50: quantile(ms, 0.5), p99: quantile(ms, 0.99), asked: ms.length, wrong, distrusted, looks }
}

const fileOf = (page: string): string =>
  `code,url,title,tags,createdAt,clicks\n${Array.from({ length: total }, (_, n) => `imported-${n},https://example.org/${page}/long/address/of/${n},Title ${n},${n % 10 === 0 ? 'spring' : ''},2020-01-01T00:00:00Z,${n % 1000}\n`).join('')}`
const cpuNow = () => ({ postgres: cpuSecondsWithEnded(stand.postgres.pid), server: cpuSecondsWithEnded(server.pid) })
const imported = async (query: string, page: string): Promise<string> => {
  const before = cpuNow()
  const file = fileOf(page)
  const beganMs = performance.now()
  const { id } = await api<Import>('POST', `/imports${query}`, file, 'text/csv')
  const keptMs = performance.now()
  let now: Import
  do {
    await pause(250)
    now = await api<Import>('GET', `/imports/${id}`)
  } while (!['done', 'failed'].includes(now.state))
  const doneMs = performance.now()
  if (now.created + now.replaced !== total) throw new Error(JSON.stringify(now))
  const after = cpuNow()
  const cpu = `${(after.postgres - before.postgres).toFixed(0)} s of CPU in Postgres, ${(after.server - before.server).toFixed(0)} s in the server`
  return `kept in ${((keptMs - beganMs) / 1000).toFixed(1)} s, done in ${((doneMs - beganMs) / 1000).toFixed(1)} s, ${cpu}`
}
type Seen = Awaited<ReturnType<typeof visited>>
const line = (what: string, took: string, seen: Seen, alone: Seen): void =>
  console.log(
    `| ${what} | ${took} | ${seen.p50.toFixed(1)} | ${seen.p99.toFixed(1)} | ${(seen.p99 / alone.p99).toFixed(2)} | ${seen.wrong} of ${seen.asked} | ${seen.distrusted} of ${seen.looks} |`,
  )

console.log(
  `${total.toLocaleString('en')} links, ${(fileOf('a').length / 1e6).toFixed(0)} MB of CSV; ${perSecond} redirects a second, whose links are not in the file`,
)
console.log(
  '\n| | took | p50, ms | p99, ms | of p99 alone | wrong answers | looks at which Redis was not trusted |\n|---|---|---|---|---|---|---|',
)
const alone = await visited(pause(15_000))
line('redirects alone', '–', alone, alone)
for (const [what, query, page] of [
  ['an import', '', 'a'],
  ['the same file again, replaced', '?onConflict=replace', 'a'],
  ['a file that leads all of them elsewhere', '?onConflict=replace', 'another'],
] as const) {
  const work = imported(query, page)
  const seen = await visited(work)
  line(what, await work, seen, alone)
}
