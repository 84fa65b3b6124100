import { expect, it } from 'vitest'
import { partitionOf, slotCount, slotOf, tagsFor } from './slots.ts'

it('a slot is the one that Redis has for a key', () => {
  // As redis-server 7.0 says: CLUSTER KEYSLOT.
  expect(slotOf('123456789')).toBe(12_739)
  expect(slotOf('{user1000}.following')).toBe(slotOf('user1000'))
  expect(slotOf('foo{}{bar}')).toBe(8363)
})

it.each([1, 2, 64, 100, 1024])('%i partitions lie at equal distances, and those of another number elsewhere', (n) => {
  const tags = tagsFor(n)
  expect(tags.map(slotOf)).toEqual(tags.map((_, at) => Math.floor(((at + 0.5) * slotCount) / n)))
  expect(tags.filter((tag) => tagsFor(n + 1).includes(tag))).toEqual([])
})

it('nodes with as many slots have as many partitions', () => {
  for (const nodes of [2, 4, 8, 16]) {
    const of = tagsFor(64).map((tag) => Math.floor((slotOf(tag) * nodes) / slotCount))
    const each = Array.from({ length: nodes }, (_, node) => of.filter((is) => is === node).length)
    expect(new Set(each)).toEqual(new Set([64 / nodes]))
  }
})

it('a code is in the same partition for ever, and partitions have about as many of them', () => {
  expect(['abc1234', 'spring', 'go.example/spring', 'acme'].map((name) => partitionOf(name, 64))).toEqual([
    35, 44, 5, 47,
  ])
  const counts = Array.from({ length: 64 }, () => 0)
  for (let n = 0; n < 64_000; n++) counts[partitionOf(`code${n}`, 64)]!++
  expect(Math.min(...counts)).toBeGreaterThan(850)
  expect(Math.max(...counts)).toBeLessThan(1150)
})
