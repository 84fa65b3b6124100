import { expect, test } from 'vitest'
import { familyOf } from '../../embedded/daemon.ts'
import { parsePs, parseStat, planCores } from './cpu.ts'

test('the name of a program may look like the fields behind it', () => {
  const line = '4211 (node) S 1 (x)) R 77 4211 4211 0 -1 4194304 9 0 0 0 250 50 7 8 20 0 11 0 123 456 789'
  expect(parseStat(line, 100)).toEqual({ pid: 4211, parent: 77, seconds: 3, endedS: 0.15 })
})

test('the times of ps, in all their lengths', () => {
  const table = '    1     0   0:01.50\n  17     1 01:02:03\n 18 17 2-00:00:01\n'
  expect(parsePs(table)).toEqual([
    { pid: 1, parent: 0, seconds: 1.5, endedS: 0 },
    { pid: 17, parent: 1, seconds: 3723, endedS: 0 },
    { pid: 18, parent: 17, seconds: 172_801, endedS: 0 },
  ])
})

test('a family is the process and everything below it', () => {
  const all = [
    { pid: 10, parent: 1, seconds: 1 },
    { pid: 11, parent: 10, seconds: 2 },
    { pid: 12, parent: 11, seconds: 4 },
    { pid: 13, parent: 1, seconds: 8 },
  ]
  expect(familyOf(all, 10).map(({ pid }) => pid)).toEqual([10, 11, 12])
})

test('the server shares its core with nobody, where there are two', () => {
  expect(planCores(1, true)).toBeUndefined()
  expect(planCores(8, false)).toBeUndefined()
  expect(planCores(2, true)).toEqual({ server: '0', generator: '1', services: '1', all: '0-1' })
  expect(planCores(8, true)).toEqual({ server: '0', generator: '1', services: '2-7', all: '0-7' })
})
