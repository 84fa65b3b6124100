import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer, type ServerProcess } from '../testing/server-process.ts'
import { freshDatabase, startRedisServer } from '../testing/services.ts'

const OWNER_KEY = 'ql_Th3C0mmandL1neAsksTh3R1ghtServer'
const home = mkdtempSync(join(tmpdir(), 'quicklink-cli-'))
afterAll(() => rmSync(home, { recursive: true }))
let server: ServerProcess
let env: Record<string, string>

beforeAll(async () => {
  const [databaseUrl, redis] = await Promise.all([freshDatabase(), startRedisServer()])
  server = await startServer({ OWNER_KEY, DATABASE_URL: databaseUrl, REDIS_URL: redis.url })
  env = { QUICKLINK_URL: server.url, QUICKLINK_KEY: OWNER_KEY }
})

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(args: readonly string[], own: Record<string, string> = env, input = ''): Promise<Ended> {
  const file = new URL('quicklink.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [file, ...args], { env: { PATH: process.env['PATH'], HOME: home, ...own } })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  child.stdin.end(input)
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })))
}
const ql = (line: string, own?: Record<string, string>, input?: string): Promise<Ended> => run(line.split(' '), own, input) // prettier-ignore

test('a link is made, found, changed, disabled and deleted', async () => {
  expect(await ql('links create https://example.org/spring --code spring')).toEqual({ code: 0, err: '', out: `${server.url.replace('127.0.0.1', 'localhost')}/spring\n` }) // prettier-ignore
  expect((await ql('links list -q spri')).out).toMatch(/^SHORTURL .*\n\S+\/spring +https:\/\/example\.org\/spring +0 /)
  const { out } = await ql('--json links edit spring --url https://example.org/summer --hits 5')
  expect(JSON.parse(out)).toMatchObject({ code: 'spring', url: 'https://example.org/summer', monthlyHits: 5 })
  expect((await ql('links show spring')).out).toContain('url          https://example.org/summer\n')
  expect((await ql('links disable spring')).out).toMatch(/spring is disabled\.\n$/)
  expect(await ql('links delete spring')).toMatchObject({ code: 0, out: 'spring is deleted.\n' })
})

test('a list goes over as many pages as it takes', async () => {
  const before = JSON.parse((await ql('--json links list --limit 1000')).out) as unknown[]
  const urls = Array.from({ length: 105 }, (_, n) => ({ url: `https://example.org/${n}` }))
  await Promise.all(urls.map((body) => server.api('POST', '/links', body)))
  const after = JSON.parse((await ql('--json links list --limit 1000')).out) as unknown[]
  expect(after.length).toBe(before.length + 105)
  expect((JSON.parse((await ql('--json links list --limit 7')).out) as unknown[]).length).toBe(7)
})

test('tenants and their keys; what a key may not do ends with 1 and the reason', async () => {
  expect((await run(['tenants', 'create', 'acme', '--name', 'Acme & Co'])).out).toContain('Acme & Co')
  const { out } = await ql('keys create acme --name laptop --role viewer')
  const viewer = { QUICKLINK_URL: server.url, QUICKLINK_KEY: out.trim() }
  expect((await ql('limits', viewer)).out).toMatch(/^STANDARD +USED +LIMIT +REMAINING +RESETSAT\ncreates +0 +50 /)
  expect(JSON.parse((await ql('--json limits', viewer)).out)).toMatchObject({
    tier: 'standard',
    creates: { limit: 50 },
  })
  const refused = await ql('links create https://example.org/', viewer)
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.err).toMatch(/^[^\n]+\.\n$/)
  const [key] = JSON.parse((await ql('--json keys list acme')).out) as { id: string }[]
  expect((await ql(`keys revoke acme ${key?.id}`)).code).toBe(0)
  expect(await ql('limits', viewer)).toMatchObject({ code: 1, err: expect.stringContaining('quicklink login URL') as string }) // prettier-ignore
})

test('a login is remembered where only its user reads it, and its key is no argument', async () => {
  const own = { XDG_CONFIG_HOME: join(home, 'config') }
  expect(await ql(`login ${server.url}`, own, `${OWNER_KEY}\n`)).toMatchObject({ code: 0 })
  const file = join(home, 'config', 'quicklink', 'profiles.json')
  expect([statSync(file).mode & 0o777, readFileSync(file, 'utf8').includes(OWNER_KEY)]).toEqual([0o600, true])
  expect((await ql('limits', own)).out).toContain('UNLIMITED')
  expect(await ql(`login ${server.url}`, own, 'ql_wrong\n')).toMatchObject({ code: 1 })
  expect(await ql('--profile other limits', own)).toMatchObject({ code: 2, err: 'There is no profile other (there are: default): quicklink login --profile other URL\n' }) // prettier-ignore
})

test('on the machine of `make up` no login is needed', async () => {
  const own = { DATA_DIR: server.dataDir, OWNER_KEY, PORT: new URL(server.url).port }
  expect((await ql('links create https://example.org/here', own)).code).toBe(0)
})

test.each([
  ['links create', 2, 'error: missing required argument'],
  ['links list --limit none', 2, 'It must be a whole number above 0.'],
  ['nonsense', 2, "error: unknown command 'nonsense'"],
  ['links show absent', 1, 'There is no link absent.'],
  ['links create ftp://example.org/', 1, 'url'],
])('quicklink %s ends with %i and one sentence', async (line, code, said) => {
  const ended = await ql(line)
  expect(ended).toMatchObject({ code, out: '' })
  expect(ended.err).toContain(said)
})

test('where nobody answers it says so, and ends with 3', async () => {
  const nobody = { QUICKLINK_URL: 'http://127.0.0.1:9', QUICKLINK_KEY: 'ql_any' }
  expect(await ql('limits', nobody)).toMatchObject({ code: 3, err: expect.stringContaining('Nobody answers at http://127.0.0.1:9') as string }) // prettier-ignore
})

test('bash completes commands and options', async () => {
  const { out } = await ql('completion')
  const typed = `${out}\nCOMP_WORDS=(quicklink links cr); COMP_CWORD=2; _quicklink; echo "\${COMPREPLY[@]}"`
  const child = spawn('bash', ['-c', typed])
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
  await new Promise((resolve) => child.once('close', resolve))
  expect(said).toBe('create\n')
})
