import { expect, test } from 'vitest'
import { doubtsBetween, doubtsOfSpeed, parseCpuLine } from './machine.ts'

const atRest = { atS: 100, ownS: 10, busyS: 50, stolenS: 1 }

test('the CPU that others took is what all took without what this run took', () => {
  const after = { atS: 110, ownS: 25, busyS: 66, stolenS: 1.1 }
  expect(doubtsBetween(atRest, after)).toEqual([])
  expect(doubtsBetween(atRest, { ...after, busyS: 72 })).toEqual([
    'Other programs took 0.7 of a core meanwhile: end them, and run it again.',
  ])
  expect(doubtsBetween(atRest, { ...after, stolenS: 3 })[0]).toMatch(
    /^The machine's host kept 0.2 of a core for others/,
  )
})

test('of /proc/stat, interrupts are left out and stolen time is apart', () => {
  expect(parseCpuLine('cpu  100 20 30 4000 5 6 7 80 9 9\ncpu0 1 1 1')).toEqual({ busyS: 1.5, stolenS: 0.8 })
})

test('a machine that does not keep its speed is named by what a bare server cost from round to round', () => {
  const spread = (min: number, max: number) => ({ median: (min + max) / 2, min, max })
  expect(doubtsOfSpeed([spread(10, 11), spread(10, 20), spread(10, 12)])).toEqual([])
  expect(doubtsOfSpeed([spread(10, 14), spread(10, 20), spread(10, 11)])[0]).toContain('changed 1.4 times')
  expect(doubtsOfSpeed([])).toEqual([])
})
