// What somebody without a key can do to those who have one.
import { describe, expect, onTestFinished, test } from 'vitest'
import { limits } from '../limits.ts'
import { send, startTestApp, type Answer, type ApiAnswer } from '../../testing/app.ts'
import { tally, times } from '../../testing/http.ts'
import { guess, randomKey } from '../../loadtest/bench/guessers.ts'
import { startServer } from '../../testing/server-process.ts'
import { freshDatabase, proxied } from '../../testing/services.ts'
import { generateKey } from './keys.ts'

const ask = (bearer: string, forwardedFor?: string): Promise<ApiAnswer> =>
  app.api('GET', '/links?limit=1', undefined, {
    Authorization: `Bearer ${bearer}`,
    ...(forwardedFor === undefined ? {} : { 'X-Forwarded-For': forwardedFor }),
  })

const newKey = async (): Promise<string> =>
  String((await app.api('POST', '/tenants/honest/keys', { name: 'test' })).body['key'])

const app = await startTestApp({ databaseUrl: await freshDatabase(), env: { TRUST_PROXY: 'loopback' } })
await app.api('POST', '/tenants', { id: 'honest', name: 'Honest', tier: 'standard' })
const key = await newKey()

/** A slip of the finger in it. */
const mistyped = (): string => generateKey().replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A'))

describe('beside 12 connections of wrong keys from the same address', () => {
  test.each([
    ['random', randomKey, limits.keyAttempts],
    ['of our form', mistyped, 0],
    ['with a checksum that fits', generateKey, limits.keyAttempts],
  ])(
    '(%s) every honest call is answered, and hardly one of the others asks Postgres',
    async (_, makeKey, perMinute) => {
      expect((await ask(key)).status).toBe(200)
      const beganMs = performance.now()
      const guessers = guess(app.url, { connections: 12, ahead: 1, makeKey })
      onTestFinished(async () => {
        await guessers.stop()
      })
      const statuses: number[] = []
      for (let n = 0; n < 55; n++) statuses.push((await ask(key)).status)
      const isNewWelcome = (await ask(await newKey())).status === 200
      const guesses = await guessers.stop()
      const minutes = 1 + Math.ceil((performance.now() - beganMs) / 60_000)
      // A machine that is busy with tests may be overloaded for a moment.
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(53)
      // One that was made a moment ago; whoever can make checksums takes that from those who share the address.
      expect(isNewWelcome).toBe(makeKey !== generateKey)
      const { 401: unauthorized = 0, 429: limited = 0, ...other } = guesses
      expect(other).toEqual({})
      if (perMinute === 0) expect([limited, unauthorized > 55]).toEqual([0, true])
      else {
        expect(unauthorized).toBeLessThanOrEqual(minutes * perMinute)
        expect(limited).toBeGreaterThan(0)
      }
    },
  )
})

test('wrong keys are counted by the address that the trusted proxy says, an IPv6 network as one', async () => {
  const tryFrom = async (address: string): Promise<number> => (await ask(randomKey(), address)).status
  /** A minute may end meanwhile. */
  const tryUntilRefused = async (address: string): Promise<void> => {
    let wrong = 0
    for (let status = 0; status !== 429; status = await tryFrom(address)) if (status === 401) wrong++
    expect(wrong).toBeGreaterThanOrEqual(limits.keyAttempts)
    expect(wrong).toBeLessThanOrEqual(2 * limits.keyAttempts)
  }
  await tryUntilRefused('203.0.113.9')
  const refused = await ask(randomKey(), '203.0.113.9')
  expect(refused.body['code']).toBe('rate_limited')
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(60)
  expect(refused.headers['ratelimit-policy']).toBe(`"keys";q=${limits.keyAttempts};w=60`)
  expect(await tryFrom('203.0.113.10')).toBe(401)
  await tryUntilRefused('2001:db8:1:2::1')
  expect(await tryFrom('2001:db8:1:2:ffff::2')).toBe(429)
  expect(await tryFrom('2001:db8:1:3::1')).toBe(401)
  expect(await app.metric('quicklink_rate_limited_total', { tier: 'address' })).toBeGreaterThan(2)
})

test('a stranger who is told 503 again and again causes a line a second, which says how many were left out', async () => {
  const { proxy, url: databaseUrl } = await proxied(await freshDatabase())
  const { url, output } = await startServer({ DATABASE_URL: databaseUrl })
  const guessed = (): Promise<Answer> =>
    send(url, 'GET', '/api/v1/links', undefined, { Authorization: `Bearer ${randomKey()}` })
  await proxy.refuse()
  const beganMs = performance.now()
  // Fewer than may be tried at once: more would be told 429.
  expect(tally(await times(20, guessed))).toEqual({ 503: 20 })
  while (performance.now() - beganMs < 2 * limits.strangersLineMs) await guessed()
  const lines = output().match(/^.*the API could not answer for now.*$/gm) ?? []
  const seconds = (performance.now() - beganMs) / limits.strangersLineMs
  expect(lines.length).toBeLessThanOrEqual(1 + Math.ceil(seconds))
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ leftOut: expect.any(Number) as number })
})
