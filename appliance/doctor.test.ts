import { afterEach, expect, test } from 'vitest'
import { examine, type Patient } from './doctor.ts'

afterEach(() => {
  process.exitCode = 0
})

const breaker = (open: 0 | 1): string =>
  ['closed', 'open', 'half_open']
    .map((state) => `quicklink_breaker_state{dependency="redis",state="${state}"} ${state === 'closed' ? 1 : state === 'open' ? open : 0}`)
    .join('\n') // prettier-ignore

async function linesOf(metrics: string): Promise<string[]> {
  const patient: Patient = {
    ops: () => Promise.resolve(metrics),
    visit: () => Promise.resolve(),
    redis: () => Promise.resolve('1'),
    settings: () => Promise.resolve({ breakerFailures: 5, breakerWindowMs: 10_000, breakerOpenMs: 30_000 }),
    prometheus: undefined,
    exposed: () => Promise.resolve([]),
    leaks: () => Promise.resolve([]),
    more: [],
  }
  const lines: string[] = []
  await examine(patient, (line) => lines.push(line))
  return lines.filter((line) => line.includes('Circuit breaker'))
}

test('a breaker that is open in one worker is not ok, although it is closed in another', async () => {
  expect(await linesOf(breaker(0))).toEqual([expect.stringMatching(/^ok +Circuit breaker for Redis: closed; /)])
  expect(await linesOf(breaker(1))).toEqual([
    expect.stringMatching(/^not ok +Circuit breaker for Redis: closed and open; /),
  ])
})
