// What an export of a million links takes, of the worker's memory, and of the visitors beside it; and 1,000 links made by one request, beside 1,000
// requests. One worker.
//   npm run -s bench:in-bulk        LINKS=100000 for less
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import { beside, told } from './beside.ts'
import { openStand } from './stand.ts'

const total = Number(process.env['LINKS'] ?? 1_000_000)
const chunk = 50_000
const many = 1000
const ownerKey = `ql_${randomBytes(24).toString('base64url')}`

const residentMb = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

await using stand = await openStand()
const { sql } = stand
await stand.migrate()
for (let first = 1; first < total; first += chunk) {
  await sql.query(
    `insert into links (code, url, created_at)
     select 'bench-' || n, 'https://example.org/' || md5(n::text), now() - interval '1 year' + n * interval '1 second'
     from generate_series($1::bigint, $1::bigint + ${chunk - 1}) as n where n < $2`,
    [first, total],
  )
}
await stand.index()
await sql.query('vacuum analyze')
const { url, opsUrl, api } = await stand.startServer({ REDIS_URL: stand.redis.url, OWNER_KEY: ownerKey })
await api('POST', '/links', { code: 'plain', url: 'https://example.org/' })
const { workers } = JSON.parse((await ask(opsUrl, '/statusz')).text) as { workers: { pid: number }[] }
const pid = workers[0]!.pid

const meanwhile = async <T>(work: Promise<T>): Promise<{ done: T; said: string; mostMb: number }> => {
  let mostMb = 0
  const seen = await beside(work, 10, () => {
    mostMb = Math.max(mostMb, residentMb(pid))
    return ask(url, '/plain')
  })
  return { done: await work, said: told(seen), mostMb }
}

console.log(`alone: ${(await meanwhile(pause(5000))).said}`)
for (const format of ['csv', 'ndjson']) {
  const beforeMb = residentMb(pid)
  const beganMs = performance.now()
  const exported = async (): Promise<{ bytes: number; lines: number }> => {
    const answer = await fetch(`${url}/api/v1/links/export?format=${format}`, {
      headers: { Authorization: `Bearer ${ownerKey}` },
    })
    if (answer.status !== 200) throw new Error(`the export was answered ${answer.status}: ${await answer.text()}`)
    const body = answer.body as unknown as AsyncIterable<Uint8Array>
    let [bytes, lines] = [0, 0]
    for await (const part of body) {
      bytes += part.length
      for (let at = part.indexOf(10); at !== -1; at = part.indexOf(10, at + 1)) lines++
    }
    return { bytes, lines }
  }
  const { done, said, mostMb } = await meanwhile(exported())
  const seconds = (performance.now() - beganMs) / 1000
  console.log(
    `${format}: ${done.lines} lines, ${(done.bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s, ${Math.round(done.lines / seconds)} a second; ` +
      `the worker had ${beforeMb.toFixed(0)} MB and then at most ${mostMb.toFixed(0)} MB`,
  )
  console.log(`  meanwhile ${said}`)
}

const links = (word: string) =>
  Array.from({ length: many }, (_, n) => ({ url: `https://example.org/${n}`, code: `${word}-${n}` }))
const timed = async (work: () => Promise<unknown>): Promise<string> => {
  const beganMs = performance.now()
  const { said } = await meanwhile(work())
  return `${((performance.now() - beganMs) / 1000).toFixed(2)} s; meanwhile ${said}`
}
console.log(
  `${many} creates, eight at once: ${await timed(() => Promise.all(links('single').map((link) => api('POST', '/links', link))))}`,
)
console.log(`${many} links in one request: ${await timed(() => api('POST', '/links/bulk', { links: links('many') }))}`)
