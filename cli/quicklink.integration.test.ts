import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startServer } from '../testing/server-process.ts'
import { freshDatabase, startRedisServer, waitFor } from '../testing/services.ts'

const OWNER_KEY = 'ql_Th3C0mmandL1neAsksTh3R1ghtServer'
const home = mkdtempSync(join(tmpdir(), 'quicklink-cli-'))
afterAll(() => rmSync(home, { recursive: true }))

const redis = await startRedisServer()
const databaseUrl = await freshDatabase()
const server = await startServer({ OWNER_KEY, DATABASE_URL: databaseUrl, REDIS_URL: redis.url })
const env = { QUICKLINK_URL: server.url, QUICKLINK_KEY: OWNER_KEY }

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
  expect((await ql('links list -q spri')).out).toMatch(
    /^SHORT URL .*\n\S+\/spring +https:\/\/example\.org\/spring +– +– +0 +active /,
  )
  const { out } = await ql('--json links edit spring --url https://example.org/summer --hits 5')
  expect(JSON.parse(out)).toMatchObject({ code: 'spring', url: 'https://example.org/summer', monthlyHits: 5 })
  expect((await ql('links show spring')).out).toMatch(/\nurl +https:\/\/example\.org\/summer\n/)
  expect((await ql('links disable spring')).out).toMatch(/spring is disabled\.\n$/)
  expect(await ql('links delete spring')).toMatchObject({ code: 0, out: 'spring is deleted.\n' })
})

test('what a link can be given is said as options, and taken away by a word', async () => {
  const given = ['--title', 'Spring sale', '--note', 'for print', '--tags', 'spring, sale', '--expires', '2090-01-01T00:00:00Z', '--expired-url', 'https://example.org/over', '--forward-query'] // prettier-ignore
  await run(['links', 'create', 'https://example.org/given', '--code', 'given', ...given])
  const shown = async (): Promise<unknown> => JSON.parse((await ql('--json links show given')).out)
  expect(await shown()).toMatchObject({ title: 'Spring sale', note: 'for print', tags: ['sale', 'spring'], expiresAt: '2090-01-01T00:00:00.000Z', expiredUrl: 'https://example.org/over', forwardQuery: true, state: 'active' }) // prettier-ignore
  await run(['links', 'edit', 'given', '--title', '', '--tags', '', '--expires', 'never', '--expired-url', 'none', '--no-forward-query', '--starts', '2089-01-01T00:00:00Z']) // prettier-ignore
  expect(await shown()).toMatchObject({ title: null, tags: [], expiresAt: null, expiredUrl: null, forwardQuery: false, state: 'scheduled' }) // prettier-ignore
  expect(await ql('links edit given')).toMatchObject({
    code: 2,
    err: 'Say what to change: quicklink links edit --help\n',
  })
})

test('rules are read from a file, and a password from the standard input, where nobody else reads it', async () => {
  const file = join(home, 'rules.json')
  writeFileSync(file, '[{"when":{"os":"ios"},"url":"https://example.org/ios"}]')
  await run(['links', 'create', 'https://example.org/any', '--code', 'guided', '--rules', file])
  const shown = async (code: string): Promise<unknown> => JSON.parse((await ql(`--json links show ${code}`)).out)
  expect(await shown('guided')).toMatchObject({ url: 'https://example.org/any', rules: [{ when: { os: 'ios' }, url: 'https://example.org/ios' }] }) // prettier-ignore
  await ql('links edit guided --rules none')
  expect(await shown('guided')).toMatchObject({ rules: [] })
  expect((await ql(`links edit guided --rules ${home}/nothing.json`)).err).toMatch(
    /nothing\.json cannot be read as JSON/,
  )

  expect((await ql('links create https://example.org/secret --code guarded --password', env, 'correct horse\n')).code).toBe(0) // prettier-ignore
  expect(await shown('guarded')).toMatchObject({ hasPassword: true, url: null })
  expect(await ql('links edit guarded --password', env, '')).toMatchObject({ code: 2, err: 'No password was given: type it, or pipe it in.\n' }) // prettier-ignore
  await ql('links edit guarded --no-password')
  expect(await shown('guarded')).toMatchObject({ hasPassword: false, url: 'https://example.org/secret' })
})

test('a plain link that is there is used again, where that is wanted', async () => {
  const { out } = await ql('links create https://example.org/again')
  expect((await ql('links create https://example.org/again --reuse')).out).toBe(out)
  expect((await ql('links create https://example.org/again')).out).not.toBe(out)
  expect((await ql('links create https://example.org/again --reuse --code mine')).code).toBe(1)
})

test('a domain is made, has a link of its own, and is deleted when it has none', async () => {
  expect((await ql('domains create go.example.com --root-url https://example.com/')).code).toBe(0)
  expect((await ql('domains list')).out).toMatch(/go\.example\.com .*https:\/\/example\.com\//)
  expect((await ql('links create https://example.org/there --code there --domain go.example.com')).out).toMatch(/\/\/go\.example\.com.*\/there\n$/) // prettier-ignore
  expect((await ql('links show there')).code).toBe(1)
  expect((await ql('links show there --domain go.example.com')).out).toMatch(/domain +go\.example\.com/)
  expect((await ql('domains delete go.example.com')).code).toBe(1)
  await ql('links delete there --domain go.example.com')
  expect(await ql('domains delete go.example.com')).toMatchObject({ code: 0, out: 'go.example.com is deleted.\n' })
  expect(await ql('domains edit go.example.com')).toMatchObject({ code: 2 })
})

test('links are found by tag and state, and a tag is renamed and deleted', async () => {
  await ql('links create https://example.org/tagged --code tagged --tags filed')
  const codes = async (line: string): Promise<string[]> =>
    (JSON.parse((await ql(`--json links list ${line}`)).out) as { code: string }[]).map(({ code }) => code)
  expect(await codes('--tag filed --state active')).toEqual(['tagged'])
  expect((await ql('links list --tag filed --state expired')).out).toBe('None fits.\n')
  expect((await ql('tags rename filed shelved')).out).toBe('filed is shelved, on 1 links.\n')
  expect((await ql('tags list')).out).toMatch(/shelved +1\n/)
  expect((await ql('tags delete shelved')).out).toBe('shelved is on no link any more.\n')
  expect(await codes('--tag shelved')).toEqual([])
  expect(await ql('tags delete shelved')).toMatchObject({ code: 1, out: '' })
})

test('links are imported from a file, what was refused is written to another, and exit codes tell', async () => {
  const [file, refused] = [join(home, 'links.csv'), join(home, 'refused.csv')]
  writeFileSync(file, 'code,url\nmoved,https://example.org/moved\nnot a code,https://example.org/\n')
  expect((await run(['import', file, '--dry-run', '--wait'])).out).toMatch(/created +1\n/)
  const { code, err } = await run(['import', file, '--refused', refused])
  expect([code, err]).toEqual([1, `1 row was refused: ${refused} says why.\n`])
  expect(readFileSync(refused, 'utf8')).toMatch(
    /^line,reason,code,url,newCode\r\n3,"?The code not a code cannot be kept/,
  )
  expect((await ql('links show moved')).out).toMatch(/url +https:\/\/example\.org\/moved\n/)
  writeFileSync(file, 'code,url\nmoved,https://example.org/elsewhere\n')
  expect((await run(['import', file, '--wait', '--on-conflict', 'replace'])).code).toBe(0)
  expect((await ql('links show moved')).out).toMatch(/elsewhere/)
  expect((await ql('imports list')).out).toMatch(/^ID .*\n\S+ +done +quicklink +1 +0 +1/)
  expect(await run(['import', join(home, 'none.csv')])).toMatchObject({ code: 2 })
})

test('a list goes over as many pages as it takes', async () => {
  const before = JSON.parse((await ql('--json links list --limit 1000')).out) as unknown[]
  const urls = Array.from({ length: 105 }, (_, n) => ({ url: `https://example.org/${n}` }))
  await Promise.all(urls.map((body) => server.api('POST', '/links', body)))
  const after = JSON.parse((await ql('--json links list --limit 1000')).out) as unknown[]
  expect(after.length).toBe(before.length + 105)
  expect((JSON.parse((await ql('--json links list --limit 7')).out) as unknown[]).length).toBe(7)
})

test('who followed a link is told in sums, bars and values, for a tag, a tenant and programs, too', async () => {
  await ql('links create https://example.org/followed --code followed --tags told')
  const visit = { headers: { Referer: 'https://news.example/page', 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0' }, redirect: 'manual' } as const // prettier-ignore
  for (let n = 0; n < 3; n++) expect((await fetch(`${server.url}/followed`, visit)).status).toBe(302)
  const asked = async (): Promise<{ total: number }> =>
    JSON.parse((await ql('--json stats followed')).out) as { total: number }
  await waitFor(async () => (await asked()).total === 3, { deadlineMs: 30_000 })
  const { out, err } = await ql('stats followed --by day --tz Europe/Berlin')
  expect([err, out]).toEqual([
    '',
    expect.stringMatching(
      /^3 visits, 3 of people; 0 in the time before\n1 visitors, counted anew each day\n\nDAY +TOTAL +PEOPLE\n[^]* 3 +3 +█{40}\n[^]*REFERRER +TOTAL +PEOPLE\nnews\.example +3 +3 +█{40}$/m,
    ),
  ])
  expect((await ql('stats --tag told --dimension browser --people')).out).toMatch(/\nFirefox 127 +3 +3 /)
  expect((await ql('stats --csv')).out).toMatch(/^row,at,value,total,people,error\r\ntotal,[^,]+,,\d+,/)
  expect(await ql('stats followed --tag told')).toMatchObject({ code: 2, err: 'Name a link or a tag, not both.\n' })
  expect(await ql('stats followed --dimension address')).toMatchObject({ code: 2 })
  expect(await ql('stats nobody')).toMatchObject({ code: 1, err: 'There is no link nobody.\n' })
})

test('links are exported to the standard output, or to a file that is there when all of it has come', async () => {
  await ql('links create https://example.org/exported --code exported --tags moving')
  const { out, err, code } = await ql('export --tag moving')
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(
    /^code,domain,[^\n]*\r\nexported,,\S+\/exported,https:\/\/example\.org\/exported,,,moving,[^\n]*\r\n$/,
  )
  const file = join(home, 'links.ndjson')
  expect(await ql(`export --tag moving -o ${file}`)).toMatchObject({ code: 0, err: '', out: `${file} has 1 kB.\n` })
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ code: 'exported', tags: ['moving'] })
  expect(JSON.parse((await ql('--json export --tag moving')).out)).toMatchObject({ code: 'exported' })
  expect(await ql('export --format xml')).toMatchObject({ code: 2, err: '--format must be csv or ndjson.\n' })
  expect(await ql(`export -o ${home}/none/links.csv`)).toMatchObject({ code: 1, err: `${home}/none/links.csv.part cannot be written (ENOENT).\n` }) // prettier-ignore
  expect((await ql('export --tenant nobody --state gone')).err).toMatch(/^--state must be one of: [^\n]+\n$/)
})

test('several links are tagged, disabled and deleted at once; what could not be done is said, and ends with 1', async () => {
  for (const code of ['one', 'two']) await ql(`links create https://example.org/ --code many-${code} --tags first`)
  const edited = await ql('links edit many-one many-two --add-tags second --remove-tags first')
  expect(edited).toEqual({ code: 0, err: '', out: 'CODE      RESULT\nmany-one  changed\nmany-two  changed\n' })
  const shown = async (code: string): Promise<unknown> => JSON.parse((await ql(`--json links show ${code}`)).out)
  expect(await shown('many-two')).toMatchObject({ tags: ['second'] })
  const disabled = await ql('links disable many-one many-none')
  expect(disabled).toMatchObject({ code: 1, err: '1 of 2 could not be done: see above.\n' })
  expect(disabled.out).toMatch(/many-one +disabled\nmany-none +There is no link many-none\.\n$/)
  expect(await shown('many-one')).toMatchObject({ enabled: false })
  expect(JSON.parse((await ql('--json links delete many-one many-two')).out)).toMatchObject([
    { status: 204 },
    { status: 204 },
  ])
  expect((await ql('links show many-one')).code).toBe(1)
})

test('a QR code is shown, or written as an SVG, and PNG is said to be elsewhere', async () => {
  await ql('links create https://example.org/qr --code printed')
  const shown = await ql('links qr printed')
  expect(shown).toMatchObject({ code: 0, err: '' })
  expect(shown.out).toMatch(/^█{29,}\n██ ▄▄▄▄▄ /)
  const file = join(home, 'printed.svg')
  expect((await ql(`links qr printed --level H -o ${file}`)).out).toMatch(/printed\.svg leads to http:\S+\/printed\n$/)
  expect(readFileSync(file, 'utf8')).toMatch(/^<svg .*<rect width="100%" height="100%" fill="#fff"\/>.*<\/svg>$/)
  expect(await ql('links qr printed -o printed.png')).toMatchObject({ code: 2, err: expect.stringMatching(/ends with \.svg\. A PNG is at http:\S+\/printed\.png\n$/) as string }) // prettier-ignore
  expect(await ql('links qr printed --level X')).toMatchObject({
    code: 2,
    err: '--level must be one of: L, M, Q, H.\n',
  })
})

test.runIf(process.platform === 'linux')(
  'open hands the short URL to the browser, and without one says the address',
  async () => {
    await ql('links create https://example.org/open --code opened')
    const bin = join(home, 'bin')
    mkdirSync(bin)
    expect(await ql('links open opened', { ...env, PATH: bin })).toMatchObject({ code: 1, err: expect.stringMatching(/^No browser could be started\. The address is http:\S+\/opened\n$/) as string }) // prettier-ignore
    writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\necho "$@" >'${join(home, 'opened')}'\n`, { mode: 0o755 })
    expect((await ql('links open opened', { ...env, PATH: `${bin}:/bin` })).out).toMatch(/\/opened\n$/)
    await expect
      .poll(() => readFileSync(join(home, 'opened'), 'utf8'), { timeout: 5000 })
      .toMatch(/^http:\S+\/opened\n$/)
  },
)

test('the doctor follows a link, and ends with 1 where short URLs lead elsewhere', async () => {
  await ql('links create https://example.org/followed')
  const well = await ql('doctor')
  expect(well).toMatchObject({ code: 0, err: '' })
  expect(well.out).toMatch(
    /^ok +Server .*\nok +Key .*\nok +Encryption .*\nok +Clock .*\nok +Short URLs .* redirects, as asked from here\n$/,
  )
  const { url } = await startServer({ OWNER_KEY, DATABASE_URL: databaseUrl, PUBLIC_URL: 'http://127.0.0.1:9' })
  const ill = await ql('doctor', { ...env, QUICKLINK_URL: url })
  expect(ill).toMatchObject({ code: 1, err: 'Something is not ok: see above.\n' })
  expect(ill.out).toContain('not ok  Short URLs  nobody answers at http://127.0.0.1:9/')
})

test('tenants and their keys; what a key may not do ends with 1 and the reason', async () => {
  expect((await run(['tenants', 'create', 'acme', '--name', 'Acme & Co'])).out).toContain('Acme & Co')
  const { out } = await ql('keys create acme --name laptop --role viewer')
  const viewer = { QUICKLINK_URL: server.url, QUICKLINK_KEY: out.trim() }
  expect((await ql('limits', viewer)).out).toMatch(
    /^STANDARD +USED +LIMIT +REMAINING +RESETS AT\ncreates in an hour +0 +50 /,
  )
  expect(JSON.parse((await ql('--json limits', viewer)).out)).toMatchObject({
    tier: 'standard',
    creates: { limit: 50 },
  })
  const refused = await ql('links create https://example.org/', viewer)
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.err).toMatch(/^[^\n]+\.\n$/)
  const [key] = JSON.parse((await ql('--json keys list acme')).out) as { id: string }[]
  expect((await ql(`keys revoke acme ${key?.id}`)).code).toBe(0)
  expect(await ql('limits', viewer)).toMatchObject({ code: 1, err: expect.stringContaining("does not take this key") as string }) // prettier-ignore
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
