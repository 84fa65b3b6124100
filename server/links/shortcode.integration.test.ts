// A million permutations take most of a minute: too long for the unit tests, short enough to prove it every time.
import { expect, test } from 'vitest'
import { shortcodes } from './shortcode.ts'

const million = 1_000_000
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const valueOf = new Map(Array.from(base62, (character, value) => [character, value]))
const numberOf = (code: string): number => {
  let sum = 0
  for (const character of code) sum = sum * 62 + (valueOf.get(character) ?? NaN)
  return sum
}

test('a million counters give a million codes with no visible order', { timeout: 300_000 }, () => {
  const mint = shortcodes('a salt for the tests of the shortcodes')
  const codes: string[] = []
  for (let counter = 0; counter < million; counter++) {
    const code = mint(counter)
    if (code !== undefined) codes.push(code)
  }

  // The few that are left out spell a reserved word: 62^7 codes against a handful of words.
  expect(codes.length).toBe(million)
  expect(new Set(codes).size).toBe(million)
  expect(codes.every((code) => /^[0-9A-Za-z]{7}$/.test(code))).toBe(true)

  const numbers = Float64Array.from(codes, numberOf)
  expect(sharedPrefixes(codes)).toBeLessThan(1 / 62 + fiveSigmas(1 / 62))
  expect(sharedPrefixes(codes)).toBeGreaterThan(1 / 62 - fiveSigmas(1 / 62))
  // Spearman's rho of independent ranks has the standard deviation 1/√n.
  expect(Math.abs(rankCorrelation(numbers))).toBeLessThan(5 / Math.sqrt(million))
  expect(Math.abs(upwardSteps(numbers) - 0.5)).toBeLessThan(fiveSigmas(1 / 2))
  // Of a code and its successor, the distance of two random points: a third of the range, and no distance twice as popular.
  expect(meanDistance(numbers) * 3).toBeCloseTo(1, 2)
  expect(mostPopularDistance(numbers)).toBeLessThan(10)
})

const fiveSigmas = (p: number): number => 5 * Math.sqrt((p * (1 - p)) / million)

const sharedPrefixes = (codes: string[]): number =>
  codes.filter((code, i) => i > 0 && code.startsWith(codes[i - 1]?.charAt(0) ?? '?')).length / million

function rankCorrelation(numbers: Float64Array): number {
  const byNumber = Array.from(numbers.keys()).sort((a, b) => at(numbers, a) - at(numbers, b))
  let squares = 0
  byNumber.forEach((index, rank) => (squares += (index - rank) ** 2))
  return 1 - (6 * squares) / (million * (million ** 2 - 1))
}

const at = (numbers: Float64Array, index: number): number => numbers[index] ?? NaN

const steps = (numbers: Float64Array): Float64Array => numbers.subarray(1).map((number, i) => number - at(numbers, i))

const upwardSteps = (numbers: Float64Array): number => steps(numbers).filter((step) => step > 0).length / million

const meanDistance = (numbers: Float64Array): number =>
  steps(numbers).reduce((sum, step) => sum + Math.abs(step), 0) / million / 62 ** 7

function mostPopularDistance(numbers: Float64Array): number {
  const counts = new Map<number, number>()
  for (const step of steps(numbers)) counts.set(step, (counts.get(step) ?? 0) + 1)
  return Math.max(...new Set(counts.values()))
}
