// How many files a request runs through: whoever joins has to open these. A bound that is reached says that a path has grown;
// QL_TRACES=1 names the files, for ARCHITECTURE.md. Each bound has room for the files of passes, which run beside every request
// of a machine that is busy enough.
import { Agent } from 'node:http'
import { Session } from 'node:inspector'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { send, startTestApp, type Answer } from '../testing/app.ts'
import { newTenant } from '../testing/http.ts'
import { freshDatabase, freshRedis, handInPsql, waitFor } from '../testing/services.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const profiler = new Session()
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
/** Who wants the figures waits for a request beside which nothing else has run. */
const fewest = process.env['QL_TRACES'] ? 60 : 12
const times = 400
const url = 'https://example.com/'

const post = <T>(method: string, params = {}): T => {
  let answer: unknown
  // In the thread that asks, the answer comes before `post` returns.
  profiler.post(method, params, (error, result) => {
    if (error) throw error
    answer = result
  })
  return answer as T
}

const databaseUrl = await freshDatabase()
const tiers = JSON.stringify({ standard: { createsPerHour: 10_000, links: 10_000 } })
const app = await startTestApp({ databaseUrl, redisUrl: await freshRedis(), env: { TIERS: tiers } })
const sql = handInPsql(databaseUrl)
const tenantKey = (await newTenant(app, 'acme')).key
profiler.connect()
post('Profiler.enable')
post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
afterAll(async () => {
  profiler.disconnect()
  agent.destroy()
})

interface Coverage {
  readonly result: {
    url: string
    functions: { functionName: string; ranges: { count: number; startOffset: number }[] }[]
  }[]
}

/** The server's files of which something has run since this was asked last. */
function filesRun(): Set<string> {
  const { result } = post<Coverage>('Profiler.takePreciseCoverage')
  const run = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
  const paths = run.map(({ url }) => relative(root, url.startsWith('file:') ? fileURLToPath(url) : url))
  return new Set(paths.filter((path) => path.startsWith('server/') && !/\.(test|stub)\.ts$/.test(path)))
}

/**
 * What else a process does runs beside one of these requests, but not beside each of them: on a busy machine it takes more
 * of them until that is seen.
 */
async function expectFiles(most: number, request: (n: number) => Promise<Answer>): Promise<void> {
  let files: Set<string> | undefined
  for (let n = 0; n < times && (n < fewest || files!.size > most); n++) {
    filesRun()
    expect((await request(n)).status).toBeLessThan(400)
    const run = filesRun()
    files = files?.intersection(run) ?? run
  }
  const paths = [...(files ?? [])].sort()
  if (process.env['QL_TRACES']) process.stdout.write(`${expect.getState().currentTestName ?? ''}: ${paths.length}\n  ${paths.join('\n  ')}\n`) // prettier-ignore
  expect(paths.length, paths.join('\n')).toBeLessThanOrEqual(most)
}

const asTenant = (): Record<string, string> => ({ Authorization: `Bearer ${tenantKey}` })

test('a hit', async () => {
  const code = await app.create(url)
  const visit = (): Promise<Answer> => send(app.url, 'GET', `/${code}`, undefined, {}, agent)
  await visit()
  await expectFiles(15, visit)
})

test('a miss', async () => {
  await sql.query("insert into links (code, url) select 'miss-' || n, $1 from generate_series(0, $2::int) n", [
    url,
    times,
  ])
  await waitFor(() => (app.app.status()['redis'] as { trusted: boolean }).trusted)
  await expectFiles(40, (n) => send(app.url, 'GET', `/miss-${n}`, undefined, {}, agent))
})

test('a PATCH', async () => {
  const code = await app.create(url)
  await expectFiles(61, (n) => app.api('PATCH', `/links/${code}`, { url: `${url}${n}` }))
})

test("a tenant's POST", async () => {
  const key = (n: number): Record<string, string> => ({ ...asTenant(), 'Idempotency-Key': `trace-${n}` })
  await expectFiles(72, (n) => app.api('POST', '/links', { url: `${url}${n}` }, key(n)))
})
