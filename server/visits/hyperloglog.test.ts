import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { decode, encode, estimate, merge, registerOf } from './hyperloglog.ts'

const hash = (n: number): Buffer => createHash('sha256').update(String(n)).digest()
const from = (first: number, count: number) =>
  encode(Array.from({ length: count }, (_, n) => registerOf(hash(first + n))))

it('few visitors are counted exactly, or nearly so, and many within three times the standard error', () => {
  for (const count of [0, 1, 2, 10]) expect(estimate(from(0, count))).toBe(count)
  for (const count of [100, 1000, 10_000, 200_000]) {
    expect(Math.abs(estimate(from(0, count)) - count) / count).toBeLessThan(3 * 0.0163)
  }
})

it('a visitor who comes again, or to another process, counts once', () => {
  const [a, b] = [from(0, 3000), from(2000, 3000)]
  expect(merge(a, a)).toEqual(a)
  expect(merge(a, b)).toEqual(merge(b, a))
  expect(merge(a, b)).toEqual(from(0, 5000))
  expect(merge(from(0, 20), from(10, 20))).toEqual(from(0, 30))
})

it('up to 200 registers are a list of three bytes each, more are 3,073 bytes', () => {
  expect(from(0, 20)).toHaveLength(61)
  expect(from(0, 200).length).toBeLessThanOrEqual(601)
  expect(from(0, 1000)).toHaveLength(3073)
})

it('whatever the registers are, they are read as they were written', () => {
  const register = fc.tuple(fc.nat(4095), fc.integer({ min: 1, max: 53 })).map(([index, rank]) => (index << 6) | rank)
  fc.assert(
    fc.property(fc.array(register, { maxLength: 600 }), (registers) => {
      const highest = new Map<number, number>()
      for (const one of registers) highest.set(one >>> 6, Math.max(highest.get(one >>> 6) ?? 0, one & 63))
      expect(new Map([...decode(encode(registers))!].sort())).toEqual(new Map([...highest].sort()))
    }),
  )
})

it('bytes that are none of ours are no registers, and merging them changes nothing', () => {
  const strange = [[], [0], [1, 1], [1, 255, 255, 255], [2, 0], [3, ...new Array<number>(3072).fill(0)]]
  for (const bytes of strange.map((list) => Uint8Array.from(list))) {
    expect(decode(bytes)).toBeUndefined()
    expect(merge(from(0, 5), bytes)).toEqual(from(0, 5))
  }
})

it('ranks count leading zeros of all 52 bits behind the index', () => {
  const rankOf = (hex: string): number => registerOf(Buffer.from(hex, 'hex')) & 63
  expect(rankOf('fff8000000000000')).toBe(1)
  expect(rankOf('fff0000100000000')).toBe(20)
  expect(rankOf('fff0000080000000')).toBe(21)
  expect(rankOf('fff0000000000001')).toBe(52)
  expect(rankOf('fff0000000000000')).toBe(53)
})
