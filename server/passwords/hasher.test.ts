import { readFileSync, readdirSync } from 'node:fs'
import { afterEach, beforeEach, expect, it, test, vi } from 'vitest'
import { limits } from '../limits.ts'
import { Hasher } from './hasher.ts'

// Its thread comes last: on a machine that is busy with other tests it waits.
vi.setConfig({ testTimeout: 60_000 })

let hasher: Hasher
beforeEach(() => (hasher = new Hasher()))
afterEach(() => hasher.close())
const wanted = (): boolean => true

test('the password opens what it was hashed to, and nothing else does', async () => {
  const [one, other] = await Promise.all([hasher.hash('correct horse'), hasher.hash('correct horse')])
  expect(one).not.toBe(other)
  expect(one).not.toContain('horse')
  expect(await hasher.isRight('correct horse', one, wanted)).toBe(true)
  expect(await hasher.isRight('correct horse ', one, wanted)).toBe(false)
  expect(await hasher.isRight('', one, wanted)).toBe(false)
})

test.runIf(process.platform === 'linux')('the thread that hashes comes last, and no other one does', async () => {
  await hasher.hash('correct horse')
  const priorities = readdirSync('/proc/self/task').map((thread) => {
    const [, after = ''] = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1').split(') ')
    return Number(after.split(' ')[16])
  })
  // This process may itself be one that somebody has made come later.
  const own = Math.min(...priorities)
  expect(priorities.filter((priority) => priority !== own)).toEqual([10])
})

test('the same letters are the same password, however they were typed', async () => {
  expect(await hasher.isRight('Scho\u0308nbrunn', await hasher.hash('Sch\u00f6nbrunn'), wanted)).toBe(true)
})

it.each(['', 'scrypt$15$8$3$AA$AA', 'scrypt$30$8$3$AAAA$AAAA', 'plain', 'scrypt$15$8$3$$'])(
  'takes no password for %j, which it has not written',
  async (kept) => {
    expect(await hasher.isRight('', kept, wanted)).toBe(false)
  },
)

test('no more wait than may, and the others are told to come back; whoever has left is not looked at', async () => {
  const kept = await hasher.hash('correct horse')
  let asked = 0
  const isWanted = (): boolean => asked++ === 0
  const all = Array.from({ length: limits.passwordsWaiting + 10 }, () => hasher.isRight('wrong', kept, isWanted))
  const told = await Promise.allSettled(all)
  const refused = told.filter(({ status }) => status === 'rejected')
  // One is worked on beside those that wait.
  expect(refused.length).toBe(9)
  expect(refused[0]).toMatchObject({ reason: { code: 'unavailable', extras: { retryAfterS: limits.passwordsRetryS } } })
  expect(told.filter((one) => one.status === 'fulfilled' && one.value === false)).toHaveLength(1)
  expect(told.filter((one) => one.status === 'fulfilled' && one.value === undefined)).toHaveLength(32)
  expect(await hasher.isRight('correct horse', kept, wanted)).toBe(true)
})

test('a link gets its password however many guess, and is second at most', async () => {
  const kept = await hasher.hash('correct horse')
  const done: string[] = []
  const guesses = Array.from({ length: limits.passwordsWaiting + 10 }, () =>
    hasher.isRight('wrong', kept, wanted).then(
      () => done.push('guess'),
      () => undefined,
    ),
  )
  await Promise.all(['one', 'other'].map((given) => hasher.hash(given).then(() => done.push('given'))))
  expect(done.indexOf('given')).toBeLessThanOrEqual(2)
  expect(done.filter((each) => each === 'guess').length).toBeLessThanOrEqual(3)
  await hasher.close()
  await Promise.all(guesses)
})

test('the event loop and the pool for files go on while it hashes', async () => {
  const { readFile } = await import('node:fs/promises')
  await hasher.hash('warm')
  let isDone = false
  const hashed = Promise.all(Array.from({ length: 5 }, () => hasher.hash('correct horse'))).then(() => (isDone = true))
  await Promise.all(Array.from({ length: 8 }, () => readFile(import.meta.filename)))
  expect(isDone).toBe(false)
  await hashed
})

test('after it is closed, nobody waits for ever', async () => {
  const hashing = expect(hasher.hash('correct horse')).rejects.toThrow()
  await hasher.close()
  await hashing
  await expect(hasher.hash('correct horse')).rejects.toThrow()
})
