// The console as it is served: which host, which files, what its page knows and what its policy lets in. What it does in a
// browser is in console/browser/.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'
import { startTestApp } from '../../testing/app.ts'
import { apiOf, newTenant, send } from '../../testing/http.ts'
import { freshDatabase } from '../../testing/services.ts'
import { createConsole } from './console.ts'

const host = { Host: 'go.example.org' }
const publicUrl = 'https://go.example.org'
const ours = { 'Sec-Fetch-Site': 'same-origin' }

const databaseUrl = await freshDatabase()
const app = await startTestApp({ databaseUrl, env: { PUBLIC_URL: publicUrl } })

async function signedIn(key: string): Promise<string> {
  const answer = await apiOf(app.url, null)('POST', '/session', { key }, ours)
  return String(answer.headers['set-cookie']).split(';', 1)[0] ?? ''
}

/** A build of two files, and a console that serves it to somebody who may be signed in. */
const dir = mkdtempSync(join(tmpdir(), 'quicklink-console-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const script = 'console.log("hello")'.repeat(50)

function make(): void {
  mkdirSync(join(dir, 'assets'), { recursive: true })
  writeFileSync(join(dir, 'index.html'), '<html data-theme="{{theme}}"><meta content="{{nonce}}"><script type="application/json">{{state}}</script>') // prettier-ignore
  writeFileSync(join(dir, 'assets', 'main-abc.js'), script)
  writeFileSync(join(dir, 'assets', 'main-abc.js.br'), brotliCompressSync(script))
  writeFileSync(join(dir, 'assets', 'main-abc.js.gz'), gzipSync(script))
}

async function served(caller: object | undefined | Error) {
  const callerOf = () => (caller instanceof Error ? Promise.reject(caller) : Promise.resolve(caller))
  const sessions = { cookie: { read: () => 'a token' }, callerOf } as unknown as Parameters<
    typeof createConsole
  >[1]['sessions']
  const listener = createConsole({ publicUrl, trustProxy: () => false }, { isAtPublicUrl: () => true, sessions }, dir)
  const server = createServer(listener).listen(0, '127.0.0.1')
  afterAll(() => server.close())
  await waitFor(() => server.listening)
  const { port } = server.address() as { port: number }
  return (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    send(`http://127.0.0.1:${port}`, method, path, undefined, headers)
}

test('before it is built the console says how to build it, and finds it afterwards', async () => {
  const get = await served(undefined)
  const before = await get('/console')
  expect([before.status, before.text]).toEqual([503, expect.stringContaining('npm run -s console')])
  make()
  await waitFor(async () => (await get('/console')).status === 200, { deadlineMs: 30_000 })
})

test('its page is never kept, knows who is signed in, and lets in nothing but its own files', async () => {
  make()
  const get = await served({
    tenant: 'acme',
    role: 'editor',
    name: '</script><b>',
    kind: 'key',
    id: 'key_1',
    isOwner: false,
  })
  const answer = await get('/console/links/spring?domain=x', { Cookie: 'quicklink-theme=dark' })
  const nonce = /content="([^"]+)"/.exec(answer.text)?.[1] ?? 'none'
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-store',
    'content-security-policy':
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; connect-src 'self'; img-src 'self' data:; ` +
      "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  expect(answer.text).toContain('data-theme="dark"')
  const state = /<script[^>]*>(.*)<\/script>/s.exec(answer.text)?.[1] ?? ''
  // What a person has named ends no tag.
  expect(state).not.toContain('<')
  expect(JSON.parse(state)).toMatchObject({ signedIn: { tenant: 'acme', role: 'editor', name: '</script><b>' }, publicUrl }) // prettier-ignore
  expect((await get('/console')).text).not.toContain(nonce)
})

test('who is signed in cannot always be looked up: the page says so, and is there', async () => {
  make()
  const get = await served(new Error('Postgres is away'))
  expect((await get('/console')).text).toContain('"signedIn":"unknown"')
})

test('its files are kept for ever, and come in the shortest form that a browser takes', async () => {
  make()
  const get = await served(undefined)
  const form = async (accepted: string) => {
    const answer = await get('/console/assets/main-abc.js', { 'Accept-Encoding': accepted })
    return [answer.status, answer.headers['content-encoding'], Number(answer.headers['content-length'])]
  }
  expect(await form('gzip, deflate, br, zstd')).toEqual([200, 'br', brotliCompressSync(script).length])
  expect(await form('gzip;q=0.5, br;q=0')).toEqual([200, 'gzip', gzipSync(script).length])
  expect(await form('')).toEqual([200, undefined, script.length])
  expect((await get('/console/assets/main-abc.js')).headers).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
    vary: 'Accept-Encoding',
  })
})

test.each(['/console/assets/none.js', '/console/assets/../index.html', '/console/assets/%2e%2e/index.html', '/console/assets/main-abc.js.br', '/console/assets/'])(
  '%s is no file of it',
  async (path) => {
    make()
    const get = await served(undefined)
    const answer = await get(path)
    expect([answer.status, answer.headers['cache-control']]).toEqual([404, 'no-store'])
  },
) // prettier-ignore

test('it answers GET and HEAD', async () => {
  make()
  const get = await served(undefined)
  expect((await get('/console', {}, 'HEAD')).text).toBe('')
  expect([(await get('/console', {}, 'POST')).status, (await get('/console', {}, 'POST')).headers['allow']]).toEqual([
    405,
    'GET, HEAD',
  ])
})

test('the console is at the host of PUBLIC_URL only: another one is told so, and a further domain has none', async () => {
  await app.api('POST', '/domains', { host: 'short.example.com' })
  const at = async (headers: Record<string, string>) => {
    const answer = await app.get('/console', { Accept: 'text/html', ...headers })
    return answer.text.includes(`The console is at ${publicUrl}/console`)
      ? 'told'
      : answer.text.includes('There is no link') ? 'none' : 'served' // prettier-ignore
  }
  expect(await at({ Host: '127.0.0.1' })).toBe('told')
  expect(await at({ Host: 'short.example.com' })).toBe('none')
  expect(await at({ Host: 'GO.example.org:443' })).toBe('served')
  // Nobody said that this proxy is one.
  expect(await at({ Host: '127.0.0.1', 'X-Forwarded-Host': 'go.example.org' })).toBe('told')
})

test('`/` leads to the console whoever is signed in, and nobody else', async () => {
  const { key } = await newTenant(app, 'rooted')
  const cookie = await signedIn(key)
  const root = async (headers: Record<string, string>) => {
    const answer = await app.get('/', headers)
    return [answer.status, answer.headers['location'], answer.headers['cache-control']]
  }
  expect(await root({ ...host, Cookie: cookie })).toEqual([302, '/console', 'no-store'])
  expect(await root(host)).toEqual([200, undefined, 'no-store'])
  expect(await root({ ...host, Cookie: `${cookie}x` })).toEqual([200, undefined, 'no-store'])
  expect(await root({ Host: 'other.example', Cookie: cookie })).toEqual([200, undefined, 'no-store'])
})

test('where ROOT_URL says so, `/` leads there, signed in or not', async () => {
  const rooted = await startTestApp({ databaseUrl, key: app.key, env: { PUBLIC_URL: publicUrl, ROOT_URL: 'https://www.example.org/' } }) // prettier-ignore
  const cookie = await signedIn(app.key)
  expect((await rooted.get('/', { ...host, Cookie: cookie })).headers['location']).toBe('https://www.example.org/')
})

test.each(['raw', 'http'])('CONSOLE=off leaves no trace of it, with FRONT_DOOR=%s', async (door) => {
  const off = await startTestApp({ databaseUrl, key: app.key, env: { PUBLIC_URL: publicUrl, CONSOLE: 'off', FRONT_DOOR: door } }) // prettier-ignore
  const none = await off.get('/nothing-is-here', host)
  for (const path of ['/console', '/console/', '/console/assets/main-abc.js']) {
    const answer = await off.get(path, host)
    expect([path, answer.status, answer.text]).toEqual([path, 404, none.text])
  }
  const cookie = await signedIn(app.key)
  expect((await off.get('/', { ...host, Cookie: cookie })).status).toBe(200)
})
