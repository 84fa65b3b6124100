import { describe, expect, it } from 'vitest'
import { limits } from '../limits.ts'
import { Ring, sampling, type Sampling, type Taken } from './ring.ts'

/** Leaves the number of each visit where it is placed. */
function visit(ring: Ring, link: Sampling, n: number): void {
  if (!ring.wants(link)) return
  const at = ring.place(link)
  if (at !== -1) ring.slots.writeUInt32BE(n, at)
}
const numbersOf = ({ strata, slots }: Taken, linkId: number): number[] =>
  strata
    .filter((stratum) => stratum.linkId === linkId)
    .flatMap((stratum) => stratum.slots.map((slot) => slots.readUInt32BE(slot * limits.visitBytes)))
const samplesOf = ({ strata }: Taken, linkId: number): number[] =>
  strata.filter((stratum) => stratum.linkId === linkId).map(({ slots }) => slots.length)

describe('the ring', () => {
  it('has every visit of links that are clicked at ordinary rates, and begins anew after each swap', () => {
    const ring = new Ring(2000)
    const links = [sampling(1), sampling(2), sampling(1)]
    for (let round = 0; round < 2; round++) {
      for (let n = 0; n < 3 * limits.visitsPerLink; n++) visit(ring, links[n % 3]!, n)
      const taken = ring.swap()
      expect(taken).toMatchObject({ used: 3 * limits.visitsPerLink, dropped: 0 })
      expect(taken.strata.map(({ linkId, seen }) => [linkId, seen])).toEqual([1, 2, 1].map((id) => [id, limits.visitsPerLink])) // prettier-ignore
      expect(numbersOf(taken, 1).length + numbersOf(taken, 2).length).toBe(new Set([...numbersOf(taken, 1), ...numbersOf(taken, 2)]).size) // prettier-ignore
    }
  })

  it('takes every visit of a hot link with the same chance, early or late in its second', () => {
    const [count, rounds, parts] = [20_000, 200, 10]
    const ring = new Ring(2000)
    const link = sampling(1)
    const taken = new Array<number>(parts).fill(0)
    for (let round = 0; round < rounds; round++) {
      for (let n = 0; n < count; n++) visit(ring, link, n)
      const numbers = numbersOf(ring.swap(), 1)
      expect(numbers).toHaveLength(limits.visitsPerLink)
      expect(new Set(numbers).size).toBe(limits.visitsPerLink)
      for (const n of numbers) taken[Math.floor((n * parts) / count)]!++
    }
    const expected = (rounds * limits.visitsPerLink) / parts
    // Ten standard deviations; a sample that prefers one end is further off.
    for (const one of taken) expect(Math.abs(one - expected)).toBeLessThan(10 * Math.sqrt(expected))
  })

  it('gives a link that comes late its slots, from those that have most', () => {
    const ring = new Ring(500)
    const hot = Array.from({ length: 10 }, (_, n) => sampling(n))
    for (let n = 0; n < 50_000; n++) visit(ring, hot[n % 10]!, n)
    const late = sampling(99)
    for (let n = 0; n < 20; n++) visit(ring, late, n)
    const taken = ring.swap()
    expect(numbersOf(taken, 99)).toHaveLength(20)
    const most = Math.max(...hot.map(({ linkId }) => samplesOf(taken, linkId)[0]!))
    expect(most).toBeLessThan(120)
    expect(taken.strata.reduce((sum, { slots }) => sum + slots.length, 0)).toBe(500)
    expect(new Set(taken.strata.flatMap(({ slots }) => slots)).size).toBe(500)
  })

  it('is fair to visits of more links than it has slots, and counts what it does not hold', () => {
    const [links, rounds] = [2000, 30]
    const ring = new Ring(500)
    const held = [0, 0]
    for (let round = 0; round < rounds; round++) {
      const all = Array.from({ length: links }, (_, n) => sampling(n))
      for (const [n, link] of all.entries()) visit(ring, link, n)
      const taken = ring.swap()
      expect(taken).toMatchObject({ used: 500, dropped: links - 500 })
      for (const { linkId, slots } of taken.strata) held[linkId < links / 2 ? 0 : 1]! += slots.length
    }
    const expected = (rounds * 500) / 2
    for (const one of held) expect(Math.abs(one - expected) / expected).toBeLessThan(0.1)
  })
})
