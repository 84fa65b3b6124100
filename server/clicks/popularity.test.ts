import { expect, it } from 'vitest'
import { matrixLifeS } from './popularity.ts'

const [minute, hour, day] = [60, 3600, 86_400]

it("is the seed's matrix", () => {
  const changed = [null, 25 * hour, 2 * hour, 59 * minute]
  const row = (perMinute: number): number[] => changed.map((ago) => matrixLifeS(perMinute, ago))
  expect(row(1001)).toEqual([day, day, hour, 15 * minute])
  expect(row(1000)).toEqual([6 * hour, 6 * hour, hour, 30 * minute])
  expect(row(100)).toEqual([6 * hour, 6 * hour, hour, 30 * minute])
  expect(row(99)).toEqual([hour, hour, 30 * minute, 15 * minute])
})
