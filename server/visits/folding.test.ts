import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Row } from '../clicks/batch.ts'
import { fromLine, toLine } from '../clicks/batch.ts'
import { dimensions, merged, otherValue, pack, unpack, withoutBreakdowns, type LinkVisits } from './batch.ts'
import { sumUp, type Sample, type Visit } from './folding.ts'
import { encode, estimate } from './hyperloglog.ts'

const all = { names: () => true, details: true }
const value = fc.option(fc.constantFrom('a', 'b', 'ü', '日本', '😀'), { nil: undefined })
const visit: fc.Arbitrary<Visit> = fc.record({
  isPerson: fc.boolean(),
  isWithheld: fc.boolean(),
  values: fc.array(value, { minLength: dimensions.length, maxLength: dimensions.length }),
  register: fc.option(
    fc.tuple(fc.nat(4095), fc.integer({ min: 1, max: 53 })).map(([index, rank]) => index * 64 + rank),
    { nil: undefined },
  ),
})
const sample: fc.Arbitrary<Sample> = fc
  .tuple(fc.integer({ min: 1, max: 4 }), fc.array(visit, { maxLength: 6 }), fc.nat(40))
  .map(([linkId, visits, more]) => ({ linkId, seen: visits.length + more, visits }))

const rowsOf = (samples: readonly Sample[]): Row[] => {
  const sums = new Map<number, number>()
  for (const { linkId, seen } of samples) sums.set(linkId, (sums.get(linkId) ?? 0) + seen)
  return Array.from(sums, ([linkId, clicks]) => [linkId, clicks, 0])
}

function expectSums(links: readonly LinkVisits[], rows: readonly Row[]): void {
  expect(links.map(({ linkId, total }) => [linkId, total, 0])).toEqual(rows.filter(([, clicks]) => clicks > 0))
  for (const { total, people, withheld, cells, detailed } of links) {
    expect([total, people, withheld, detailed].every((n) => Number.isSafeInteger(n) && n >= 0)).toBe(true)
    expect(people).toBeLessThanOrEqual(total)
    expect(withheld).toBeLessThanOrEqual(people)
    for (const dimension of dimensions.keys()) {
      const own = cells.filter(([its]) => its === dimension)
      expect(own.reduce((sum, [, , n]) => sum + n, 0)).toBeLessThanOrEqual(total - withheld)
      expect(own.reduce((sum, [, , , n]) => sum + n, 0)).toBeLessThanOrEqual(people - withheld)
    }
  }
}

describe('the folding', () => {
  it('adds up to the clicks in every dimension, whatever was sampled, and comes through the spool as it was', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(sample, { maxLength: 6 }), { minLength: 1, maxLength: 4 }),
        async (seconds) => {
          const batches = seconds.map((samples, n) => {
            const rows = rowsOf(samples)
            const links = sumUp(rows, samples, all)
            expectSums(links, rows)
            const totals = { accepted: 0, dropped: 0 }
            const line = toLine({
              number: 1,
              hourMs: (n % 2) * 3_600_000,
              rows,
              dropped: 0,
              totals,
              visits: pack(links),
            })
            expect(Buffer.from(line).length).toBe(line.length)
            const read = fromLine(line.trimEnd())!
            expect(unpack(read.visits).map(plain)).toEqual(links.map(plain))
            return read
          })
          for (const { hourMs, links } of await merged(batches)) {
            const rows = new Map<number, number>()
            for (const batch of batches) {
              if (batch.hourMs !== hourMs) continue
              for (const [linkId, clicks] of batch.rows) rows.set(linkId, (rows.get(linkId) ?? 0) + clicks)
            }
            const given = links.map(({ linkId }): Row => [linkId, rows.get(linkId)!, 0])
            expectSums(links, given)
          }
        },
      ),
    ))

  it('is exact where every visit was looked at', () => {
    fc.assert(
      fc.property(fc.array(sample, { maxLength: 6 }), (sampled) => {
        const samples = sampled.map(({ linkId, visits }) => ({ linkId, visits, seen: visits.length }))
        for (const { linkId, people, withheld, detailed, total, cells } of sumUp(rowsOf(samples), samples, all)) {
          const visits = samples.filter((one) => one.linkId === linkId).flatMap((one) => one.visits)
          const told = visits.filter((one) => !(one.isPerson && one.isWithheld))
          expect(detailed).toBe(total)
          expect(people).toBe(visits.filter(({ isPerson }) => isPerson).length)
          expect(withheld).toBe(visits.length - told.length)
          for (const [dimension, value, count, persons] of cells) {
            const own = told.filter(({ values }) => values[dimension] === value)
            expect([count, persons]).toEqual([own.length, own.filter(({ isPerson }) => isPerson).length])
          }
        }
      }),
    )
  })

  it('says that visitors are a lower bound where a link was sampled, or somebody could not be counted', () => {
    const seen: Visit = { isPerson: true, isWithheld: false, values: [], register: 65 }
    const fold = (count: number, visits: Visit[]): LinkVisits =>
      sumUp([[1, count, 0]], [{ linkId: 1, seen: count, visits }], all)[0]!
    expect(fold(2, [seen, seen])).toMatchObject({ atLeast: false, detailed: 2 })
    expect(estimate(fold(2, [seen, seen]).visitors!)).toBe(1)
    expect(fold(3, [seen, seen])).toMatchObject({ atLeast: true, detailed: 2 })
    expect(fold(1, [{ ...seen, register: undefined }])).toMatchObject({ atLeast: true, visitors: undefined })
    expect(fold(1, [{ ...seen, register: undefined, isPerson: false }]).atLeast).toBe(false)
  })

  it('without details tells people from others, and nothing else', () => {
    const one = (isPerson: boolean): Visit => ({ isPerson, isWithheld: false, values: ['a'], register: 65 })
    const links = sumUp([[1, 4, 0]], [{ linkId: 1, seen: 4, visits: [one(true), one(true), one(true), one(false)] }], {
      ...all,
      details: false,
    })
    expect(links).toMatchObject([{ total: 4, people: 3, detailed: 0, cells: [], visitors: undefined }])
  })

  it('tells what the doorkeeper does not know as other, with exact totals', () => {
    const visits = ['a', 'b', 'c', 'a'].map((one) => ({
      isPerson: true,
      isWithheld: false,
      values: [one],
      register: 65,
    }))
    const names = (_linkId: number, _dimension: number, value: string): boolean => value === 'a'
    const [link] = sumUp([[1, 4, 0]], [{ linkId: 1, seen: 4, visits }], { names, details: true })
    expect(link!.cells).toEqual([[0, 'a', 2, 2], [0, otherValue, 2, 2]]) // prettier-ignore
  })
})

describe('a line of the spool', () => {
  const link: LinkVisits = {
    linkId: 1, total: 5, people: 4, withheld: 1, detailed: 5, atLeast: false, visitors: encode([65]),
    cells: [[0, 'a.example', 4, 3]],
  } // prettier-ignore

  it('that says what cannot be is believed as far as it can', () => {
    const packed = pack([link])
    const [first] = packed.links
    const having = (place: number, figure: unknown): unknown[] =>
      unpack({ ...packed, links: [first!.with(place, figure as never)] } as never)
    for (const wrong of [-1, 1.5, null, '7', 2 ** 53]) expect(having(1, wrong)).toEqual([])
    expect(having(2, 6)).toEqual([])
    expect(having(3, 5)).toEqual([])
    expect(having(6, 'AAAA')).toMatchObject([{ visitors: undefined }])
    for (const wrong of [[0, 9, 1], [0, 4, 4], [0, 1, 2], [7, 1, 1], [null, 1, 1], 'x', null]) expect(having(7, wrong)).toMatchObject([{ total: 5, cells: [] }]) // prettier-ignore
    for (const wrong of [undefined, null, 7, 'x', [], {}, { values: 1, links: [] }, { values: [], links: [7, null, []] }]) expect(unpack(wrong as never)).toEqual([]) // prettier-ignore
    const values = [[0, 'a\0b'], [99, 'x'], [0, 7], [0, ''], [0, 'x'.repeat(65)], null] // prettier-ignore
    const numbers = values.flatMap((_, n) => [n, 1, 1])
    expect(unpack({ values, links: [first!.with(7, numbers)] } as never)).toMatchObject([{ cells: [] }])
  })

  it('without breakdowns still says how many were people', () => {
    expect(unpack(withoutBreakdowns(pack([link])))).toMatchObject([{ total: 5, people: 4, detailed: 0, cells: [] }])
  })
})

const plain = (link: LinkVisits) => ({ ...link, visitors: link.visitors && [...link.visitors] })
