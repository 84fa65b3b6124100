import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, it, test, vi } from 'vitest'
import { limits } from '../limits.ts'
import { Breaker } from '../connections/breaker.ts'
import type { Code } from '../link.ts'
import { countersBy, countInMemory } from '../rates/counters.ts'
import { createGuard, FormRefused, type Guess } from './guard.ts'

const breaker = new Breaker({ failures: 1000, windowMs: 10_000, openMs: 1000, onState: () => undefined })
afterAll(() => breaker.shutdown())

/** One at a time, as the real one; how it hashes is a test of its own. */
function stubHasher() {
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  return {
    isRight(password: string) {
      if (waiting > limits.passwordsWaiting) return Promise.reject(new Error('too many'))
      waiting++
      const hashed = last
        .then(() => pause(1))
        .then(() => {
          waiting--
          return password === 'correct horse'
        })
      last = hashed
      return hashed
    },
  }
}

const hash = 'kept'
const code = 'secret' as Code
const url = 'https://example.org/secret'

function guarding(answer: () => Promise<unknown[]> = () => Promise.resolve([{ hash, url }])) {
  const query = vi.fn(answer)
  const guard = createGuard({
    sql: { query: query as never },
    breaker,
    counters: countersBy(countInMemory(limits.guessWindowS, limits.guessers)),
    hasher: stubHasher(),
    config: { dbTimeoutMs: 1000, trustProxy: () => false },
    onBlocked: () => undefined,
  })
  const guess = (said: string | undefined, more: Partial<Guess> = {}) =>
    guard.open(code, 7, {
      peer: '192.0.2.7',
      forwardedFor: undefined,
      isWanted: () => true,
      password: () => Promise.resolve(said),
      ...more,
    })
  return { guard, guess, query }
}
const many = <T>(n: number, ask: (n: number) => Promise<T>) => Promise.all(Array.from({ length: n }, (_, i) => ask(i)))
const blocked = (opened: readonly unknown[]) =>
  opened.filter((one) => typeof one === 'object' && one !== null && 'tooManyForS' in one)

test('of 1,000 guesses from one address ten are looked at, however many come at once', async () => {
  const { guess, query } = guarding()
  const opened = await many(1000, () => guess('wrong'))
  expect(opened.filter((one) => one === 'wrong')).toHaveLength(limits.guesses)
  expect(blocked(opened)).toHaveLength(1000 - limits.guesses)
  expect(query).toHaveBeenCalledTimes(limits.guesses)
})

test('of 1,000 guesses from 100 addresses at once no more wait than may, and the others cost nothing', async () => {
  const { guess, query } = guarding()
  const opened = await many(1000, (n) => guess('wrong', { peer: `192.0.2.${n % 100}` }))
  const busy = opened.filter((one) => one === 'busy').length
  const wrong = opened.filter((one) => one === 'wrong').length
  expect(wrong).toBeGreaterThan(0)
  expect(wrong).toBeLessThanOrEqual(limits.passwordsWaiting + 1)
  expect(busy + wrong + blocked(opened).length).toBe(1000)
  expect(query.mock.calls.length).toBeLessThanOrEqual(limits.passwordsWaiting + 1)
  // Those were given back: nobody is locked out because others were there first.
  expect(await guess('correct horse', { peer: '192.0.2.99' })).toEqual({ url })
})

test('all addresses of an IPv6 subscriber are one', async () => {
  const { guess } = guarding()
  const opened = await many(14, (n) => guess('wrong', { peer: `2001:db8:1:2::${n.toString(16)}` }))
  expect(blocked(opened)).toHaveLength(4)
  expect(await guess('correct horse', { peer: '2001:db8:1:3::1' })).toEqual({ url })
})

test('one link does not use up the attempts at another', async () => {
  const { guard, guess } = guarding()
  await many(limits.guesses, () => guess('wrong'))
  const asked = {
    peer: '192.0.2.7',
    forwardedFor: undefined,
    isWanted: () => true,
    password: () => Promise.resolve('x'),
  }
  expect(await guard.open(code, 8, asked)).toBe('wrong')
})

it.each<[string, unknown, Parameters<typeof guarding>[0]]>([
  ['Postgres is away', 'unavailable', () => Promise.reject(new Error('connect ECONNREFUSED'))],
  ['the link has changed meanwhile', 'changed', () => Promise.resolve([])],
])('an attempt does not count when %s', async (_what, opened, answer) => {
  const { guess } = guarding(answer)
  for (let n = 0; n <= limits.guesses; n++) expect(await guess('wrong')).toBe(opened)
})

test('a form that did not come whole, or has no password, counts', async () => {
  const { guess, query } = guarding()
  const slow = { password: () => Promise.reject(new FormRefused('too_slow')) }
  for (let n = 0; n < limits.guesses - 1; n++) await expect(guess('', slow)).rejects.toThrow(FormRefused)
  expect(await guess(undefined)).toBe('wrong')
  expect(blocked([await guess('correct horse')])).toHaveLength(1)
  expect(query).not.toHaveBeenCalled()
})
