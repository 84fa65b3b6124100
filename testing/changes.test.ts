import { expect, test } from 'vitest'
import type { Code } from '../server/link.ts'
import { broken, stalledMs, type Made } from './changes.ts'
import type { LoadAnswer } from './load.ts'

const change: Made = { what: 'update', code: 'abc' as Code, before: 'old', after: 'new', atMs: 1000, make: () => Promise.resolve() } // prettier-ignore
const at = (startedMs: number, location: string, status = 302): LoadAnswer => ({
  path: '/abc',
  status,
  headers: status === 302 ? { location } : {},
  text: '',
  ms: 1,
  atMs: startedMs,
  startedMs,
})
/** Every 10 ms until this, so that nothing seems to stand still. */
const usual = (untilMs: number): LoadAnswer[] =>
  Array.from({ length: untilMs / 10 }, (_, n) => ({ ...at(n * 10, ''), path: '/other' }))
const found = (...answers: LoadAnswer[]): string[] => broken({ result: 0, answers: [answers], failures: [] }, [change])

test('what is old a second after the change is found; before that, and a 503, it is not', () => {
  expect(found(...usual(2500), at(1990, 'old'), at(2400, 'new'))).toEqual([])
  expect(found(...usual(2500), at(2400, 'old'))).toEqual(['server 0, 1400 ms after update: /abc was old'])
  expect(found(...usual(2500), at(2300, '', 503), at(2400, 'new'))).toEqual([])
})

test('a test that could not have seen the promise broken says so', () => {
  const silent = ['server 0 gave no answer for /abc any more']
  expect(found(...usual(2500), at(1990, 'old'))).toEqual(silent)
  expect(found(...usual(2500), at(2400, '', 503))).toEqual(silent)
})

test('the time in which the machine stood still is not held against the server', () => {
  const starts = [0, 10, 20, 620, 630]
  expect([stalledMs(starts, 0, 630), stalledMs(starts, 620, 630)]).toEqual([600, 0])
  const still = usual(3000).filter(({ startedMs }) => startedMs < 1500 || startedMs > 2200)
  expect(found(...still, at(2400, 'old'), at(2900, 'new'))).toEqual([])
  expect(found(...still, at(2800, 'old'))[0]).toContain('1800 ms after update')
})
