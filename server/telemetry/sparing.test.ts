import { expect, test } from 'vitest'
import { sparing } from './sparing.ts'

function setUp() {
  const said: [level: string, details: object, message: string][] = []
  const say =
    (level: string) =>
    (details: object, message: string): void =>
      void said.push([level, details, message])
  const clock = { nowMs: 0 }
  const log = sparing({ info: say('info'), warn: say('warn'), error: say('error') }, 1000, () => clock.nowMs)
  return { log, said, clock }
}

test('of a flood of lines one is said a second, with the number of those left out before it', () => {
  const { log, said, clock } = setUp()
  for (; clock.nowMs < 2500; clock.nowMs += 10) log.warn({ n: clock.nowMs }, 'could not answer')
  expect(said).toEqual([
    ['warn', { n: 0 }, 'could not answer'],
    ['warn', { n: 1000, leftOut: 99 }, 'could not answer'],
    ['warn', { n: 2000, leftOut: 99 }, 'could not answer'],
  ])
})

test('a flood of one kind hides no line of another, and what comes rarely is said as it is', () => {
  const { log, said, clock } = setUp()
  for (let n = 0; n < 100; n++) log.warn({}, 'could not answer')
  log.error({}, 'could not answer')
  log.warn({}, 'something else')
  clock.nowMs = 5000
  log.error({}, 'could not answer')
  expect(said.map(([level, details, message]) => [level, details, message])).toEqual([
    ['warn', {}, 'could not answer'],
    ['error', {}, 'could not answer'],
    ['warn', {}, 'something else'],
    ['error', {}, 'could not answer'],
  ])
})
