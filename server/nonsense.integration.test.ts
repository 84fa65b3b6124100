// Promise 2 where Redis is up, and what it says makes no sense.
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { singleKeys } from './redis-keys.ts'
import type { Code } from './link.ts'
import { send, startTestApp, type TestApp } from '../testing/app.ts'
import { startNonsenseRedis, type NonsenseRedis } from '../testing/nonsense-redis.ts'
import { startServer } from '../testing/server-process.ts'
import { freshDatabase, redisCommand, startRedisServer, waitFor } from '../testing/services.ts'

const forMs = 6000
const seed = Number(process.env['QL_NONSENSE_SEED'] ?? 20_261_119)

function randomFrom(start: number): <T>(some: readonly T[]) => T {
  let state = start
  return (some) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return some[Math.floor((state / 2 ** 32) * some.length)] as (typeof some)[number]
  }
}

const replies = [
  '$-1\r\n', '*-1\r\n', '_\r\n', '+OK\r\n', ':1\r\n', ':-1\r\n', ':9223372036854775807\r\n', '$4\r\nnull\r\n', '$2\r\n{}\r\n',
  '*0\r\n', '*1\r\n$-1\r\n', '*2\r\n$-1\r\n:1\r\n', '*2\r\n$1\r\n7\r\n*0\r\n', '*4\r\n:5\r\n:5\r\n:5\r\n:5\r\n', '*4\r\n$1\r\n5\r\n_\r\n:1\r\n:1\r\n',
  '-ERR no\r\n', '-WRONGTYPE no\r\n', '-MOVED 1 127.0.0.1:1\r\n', '-READONLY no\r\n', '-LOADING no\r\n', '-NOSCRIPT no\r\n', '-\r\n',
  '>1\r\n_\r\n', '>3\r\n$7\r\nmessage\r\n_\r\n_\r\n', '*3\r\n$7\r\nmessage\r\n$13\r\nql:invalidate\r\n$-1\r\n', '>0\r\n',
  '#t\r\n', ',1.5\r\n', '(123\r\n', '%1\r\n+a\r\n+b\r\n', '~1\r\n+a\r\n', '=7\r\ntxt:abc\r\n', '!5\r\nERR x\r\n', '|1\r\n+a\r\n+b\r\n+c\r\n',
  'nonsense\r\n', '\r\n', '$x\r\n', '*4294967296\r\n', '$3\r\nab', '\0\xff\xfe',
] // prettier-ignore

let redis: NonsenseRedis | undefined
afterEach(async () => {
  await redis?.close()
  redis = undefined
})

it('whatever it answers, and unasked, no process dies and every redirect is right: only connections do', async () => {
  const pick = randomFrom(seed)
  const answers = (): string => Array.from({ length: pick([0, 1, 1, 1, 1, 1, 1, 2, 3]) }, () => pick(replies)).join('')
  const fake = (redis = await startNonsenseRedis(answers))
  const server = await startServer({ DATABASE_URL: await freshDatabase(), REDIS_URL: fake.url, WORKERS: '2' })
  const targets = ['https://example.org/1', 'https://example.org/2', 'https://example.org/3']
  const codes: string[] = []
  for (const url of targets) codes.push(String((await server.api('POST', '/links', { url })).body['code']))
  const pids = await server.workerPids()

  const untilMs = performance.now() + forMs
  const wrong: string[] = []
  let asked = 0
  // Each kind at least once, to connections where nothing is asked at that moment, too: the one that listens for news.
  const unasked = [...replies]
  while (performance.now() < untilMs || unasked.length > 0) {
    fake.send(unasked.pop() ?? pick(replies))
    const n = asked++ % codes.length
    const { status, headers } = await send(server.url, 'GET', `/${codes[n]}`)
    if (status !== 302 || headers.location !== targets[n]) wrong.push(`${codes[n]}: ${status} ${headers.location}`)
    if ((await send(server.url, 'GET', '/nobody-has-it')).status !== 404) wrong.push('nobody-has-it')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  expect({ wrong, seed }).toEqual({ wrong: [], seed })
  expect(asked).toBeGreaterThan(20)
  expect(fake.connections).toBeGreaterThan(4)
  expect(await server.workerPids()).toEqual(pids)
  expect(server.output()).not.toContain('nobody caught')
})

it('where nothing that is written to it stays, passes back off', async () => {
  const answers = ([word = '']: readonly string[]): string =>
    /^scan/i.test(word) ? '*2\r\n$1\r\n0\r\n*0\r\n' : /^eval/i.test(word) ? ':0\r\n' : '$-1\r\n'
  const fake = (redis = await startNonsenseRedis(answers))
  const server = await startServer({ DATABASE_URL: await freshDatabase(), REDIS_URL: fake.url })
  await waitFor(() => fake.commands > 0)
  const before = fake.commands
  await new Promise((resolve) => setTimeout(resolve, 3000))
  expect(fake.commands - before).toBeLessThan(1000)
  expect((await send(server.url, 'GET', '/nobody-has-it')).status).toBe(404)
})

describe('a key of ours that somebody else has written', () => {
  let app: TestApp
  let url: string

  beforeAll(async () => {
    url = (await startRedisServer()).url
    app = await startTestApp({ databaseUrl: await freshDatabase(), redisUrl: url, env: { LOCAL_CACHE_TTL_MS: '1' } })
    await waitFor(trusted)
  })
  const state = () => app.app.status()['redis'] as { trusted: boolean; breaker: string }
  const trusted = (): boolean => state().trusted
  /** Without the line that says how long it is. */
  const ask = async (command: string): Promise<string> =>
    ((await redisCommand(url, command)) ?? '').replace(/^\$\d+\s+/, '')

  const cursor = '{"identity":"a","version":1,"snapshot":"5:5:","atS":1}'
  it.each([
    `LPUSH ${singleKeys.cursor} a`, `HSET ${singleKeys.cursor} a b`, `SADD ${singleKeys.cursor} a`, `ZADD ${singleKeys.cursor} 1 a`, `XADD ${singleKeys.cursor} * a b`,
    ...['', 'null', '7', '[]', '{', '{"snapshot":"5:5:"}', cursor.replace('5:5:', '9:5:'), cursor.replace('5:5:', '5:9:7,6'),
        cursor.replace('5:5:', '99999999999999999999:99999999999999999999:'), cursor.replace('1,', '1.5,'),
        cursor.replace('}', ',"to":"7"}'), cursor.replace('}', ',"to":"7:7:","after":["x",{}]}'), cursor.replace('"a"', '7'),
    ].map((value) => `SET ${singleKeys.cursor} '${value}'`),
  ])('is no cursor, and Redis is trusted again: %s', async (command) => {
    await ask(`DEL ${singleKeys.cursor}`)
    expect(await ask(command)).not.toContain('ERR')
    await waitFor(async () => trusted() && (await ask(`GET ${singleKeys.cursor}`)).includes('"snapshot":"'), { deadlineMs: 30_000 })
    await waitFor(async () => {
      const held = JSON.parse(await ask(`GET ${singleKeys.cursor}`)) as { identity: string; atS: number }
      return trusted() && typeof held.identity === 'string' && held.identity.length > 10
    })
  }) // prettier-ignore

  it('counts as not there, is no failure of Redis, and goes', async () => {
    const target = 'https://example.org/'
    for (const key of [singleKeys.link, singleKeys.hint]) {
      for (let n = 0; n < 8; n++) {
        const code = (await app.create(target)) as Code
        await ask(`DEL ${singleKeys.link(code)} ${singleKeys.hint(code)}`)
        await ask(`LPUSH ${key(code)} a`)
        const { status, headers } = await app.get(`/${code}`)
        expect([status, headers.location]).toEqual([302, target])
      }
    }
    expect(state().breaker).toBe('closed')
    const code = (await app.create(target)) as Code
    await ask(`DEL ${singleKeys.link(code)}`)
    await ask(`LPUSH ${singleKeys.link(code)} a`)
    await app.api('PATCH', `/links/${code}`, { enabled: false })
    await waitFor(async () => (await ask(`TYPE ${singleKeys.link(code)}`)) !== '+list')
    expect((await app.get(`/${code}`)).status).toBe(404)
    expect(state()).toMatchObject({ trusted: true, breaker: 'closed' })
  })
})
