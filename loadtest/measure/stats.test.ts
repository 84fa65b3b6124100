import { expect, test } from 'vitest'
import { Latencies, spreadOf } from './stats.ts'

test('median and spread', () => {
  expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 })
  expect(spreadOf([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 })
})

test('quantiles are exact to the microsecond', () => {
  const latencies = new Latencies()
  for (let n = 1; n <= 1000; n++) latencies.add(n / 100)
  expect([0.5, 0.99, 0.999, 1].map((share) => latencies.quantile(share))).toEqual([5, 9.9, 9.99, 10])
  expect(latencies.count).toBe(1000)
})

test('what is longer than two seconds counts as two', () => {
  const latencies = new Latencies()
  latencies.add(60_000)
  expect(latencies.quantile(0.5)).toBe(2000)
  expect(new Latencies().quantile(0.5)).toBeNaN()
})
