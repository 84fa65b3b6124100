import { expect, test } from 'vitest'
import { drills } from '../all.ts'
import { obstacleOnTarget, targetOf } from './target.ts'

test('a running appliance is drilled only where its owner says so', () => {
  expect(targetOf({})).toBeUndefined()
  expect(() => targetOf({ TARGET: 'compose:staging' })).toThrow(
    'The drill breaks the compose project staging for whoever uses it: I_MAY_BREAK_THIS=yes says that you may.',
  )
  expect(targetOf({ TARGET: 'compose:staging', I_MAY_BREAK_THIS: 'yes' })).toEqual({ project: 'staging' })
  expect(targetOf({ TARGET: 'embedded', I_MAY_BREAK_THIS: 'yes' })).toEqual({ project: undefined })
  expect(() => targetOf({ TARGET: 'embedded' })).toThrow('The drill breaks the QuickLink of `make up`')
  for (const given of ['staging', 'compose:', 'compose:a b', 'http://staging']) {
    expect(() => targetOf({ TARGET: given, I_MAY_BREAK_THIS: 'yes' })).toThrow(`TARGET is ${given}, but must be embedded, for`)
  }
}) // prettier-ignore

test('only drills that change nothing but by their fault are run on a running appliance', () => {
  const possible = drills.filter((drill) => obstacleOnTarget(drill) === undefined).map(({ name }) => name)
  expect(possible.toSorted()).toEqual(['clicks-postgres-away', 'hot-key', 'postgres-refused', 'redis-refused', 'resurrection', 'worker-hung', 'worker-killed', 'wrong-data']) // prettier-ignore
})
