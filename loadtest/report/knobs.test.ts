import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { choicesOf, numberOf } from './knobs.ts'

test('what nobody can do is refused by a sentence with the choices', () => {
  const range = { from: 0.1, to: 600, unit: 'seconds', fraction: true }
  expect(numberOf({}, 'SECONDS', range)).toBeUndefined()
  expect(numberOf({ SECONDS: '0.5' }, 'SECONDS', range)).toBe(0.5)
  for (const SECONDS of ['abc', '-1', '0', 'Infinity', '1e999'])
    expect(() => numberOf({ SECONDS }, 'SECONDS', range)).toThrow(
      `SECONDS is ${SECONDS}, but must be a number from 0.1 to 600 (seconds).`,
    )
  expect(choicesOf({ ONLY: '' }, 'ONLY', ['raw', 'http'])).toBeUndefined()
  expect(choicesOf({ ONLY: 'http,raw' }, 'ONLY', ['raw', 'http'])).toEqual(['http', 'raw'])
  expect(() => choicesOf({ ONLY: 'raw,foo' }, 'ONLY', ['raw', 'http'])).toThrow('ONLY is foo, but must be one of raw, http.') // prettier-ignore
})

const bench = (env: Record<string, string>) =>
  spawnSync(process.execPath, ['loadtest/bench/bench.ts'], { env: { PATH: process.env['PATH'], ...env }, encoding: 'utf8' }) // prettier-ignore

test.each([
  [{ BENCH: 'ful' }, 'BENCH is ful, but must be one of quick, full, profile.\n'],
  [{ ONLY: 'foo' }, /^ONLY is foo, but must be one of visitors, net, http, raw, .*\.\n$/],
])('make bench %j ends at once, in one sentence', (env, said) => {
  const { status, stdout, stderr } = bench(env)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr).toMatch(said)
})
