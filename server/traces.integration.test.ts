// How many files a request runs through: whoever joins has to open these. A bound that is reached says that a path has grown;
// QL_TRACES=1 names the files, for ARCHITECTURE.md.
import { Agent } from 'node:http'
import { Session } from 'node:inspector'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { send, startTestApp, type Answer, type TestApp } from '../testing/app.ts'
import { handInPsql } from '../testing/changes.ts'
import { freshDatabase, freshRedis, waitFor } from '../testing/services.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const profiler = new Session()
let app: TestApp
let tenantKey: string
let sql: ReturnType<typeof handInPsql>
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const times = 12
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

beforeAll(async () => {
  const databaseUrl = await freshDatabase()
  app = await startTestApp({ databaseUrl, redisUrl: await freshRedis() })
  sql = handInPsql(databaseUrl)
  await app.api('POST', '/tenants', { id: 'acme', name: 'Acme', tier: 'standard' })
  tenantKey = String((await app.api('POST', '/tenants/acme/keys', { name: 'k' })).body['key'])
  profiler.connect()
  post('Profiler.enable')
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
})
afterAll(async () => {
  profiler.disconnect()
  agent.destroy()
  await sql.close()
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

/** What else a process does runs beside one of these requests, but not beside each of them. */
async function filesOf(request: (n: number) => Promise<Answer>): Promise<string[]> {
  let files: Set<string> | undefined
  for (let n = 0; n < times; n++) {
    filesRun()
    expect((await request(n)).status).toBeLessThan(400)
    const run = filesRun()
    files = files?.intersection(run) ?? run
  }
  const paths = [...(files ?? [])].sort()
  if (process.env['QL_TRACES']) process.stdout.write(`${expect.getState().currentTestName ?? ''}: ${paths.length}\n  ${paths.join('\n  ')}\n`) // prettier-ignore
  return paths
}

const asTenant = (): Record<string, string> => ({ Authorization: `Bearer ${tenantKey}` })

test('a hit', async () => {
  const code = await app.create(url)
  const visit = (): Promise<Answer> => send(app.url, 'GET', `/${code}`, undefined, {}, agent)
  await visit()
  expect((await filesOf(visit)).length).toBeLessThanOrEqual(10)
})

test('a miss', async () => {
  await sql.query("insert into links (code, url) select 'miss-' || n, $1 from generate_series(0, $2::int) n", [
    url,
    times,
  ])
  await waitFor(() => (app.app.status()['redis'] as { trusted: boolean }).trusted)
  expect((await filesOf((n) => send(app.url, 'GET', `/miss-${n}`, undefined, {}, agent))).length).toBeLessThanOrEqual(
    30,
  )
})

test('a PATCH', async () => {
  const code = await app.create(url)
  const patch = (n: number): Promise<Answer> => app.api('PATCH', `/links/${code}`, { url: `${url}${n}` })
  expect((await filesOf(patch)).length).toBeLessThanOrEqual(39)
})

test("a tenant's POST", async () => {
  const key = (n: number): Record<string, string> => ({ ...asTenant(), 'Idempotency-Key': `trace-${n}` })
  const files = await filesOf((n) => app.api('POST', '/links', { url: `${url}${n}` }, key(n)))
  expect(files.length).toBeLessThanOrEqual(49)
})
