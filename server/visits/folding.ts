// From the visits that were looked at to whole numbers that add up: each sample stands for all visits of its copy of the
// link, and the weights of a sample differ by one at most, so that their sum is exactly what was counted.
import type { Row } from '../clicks/batch.ts'
import { otherValue, type Cell, type LinkVisits } from './batch.ts'
import type { Told } from './classify.ts'
import { encode } from './hyperloglog.ts'

export interface Visit extends Told {
  readonly isWithheld: boolean
  /** As `registerOf` tells it; undefined: this visitor is not counted. */
  readonly register: number | undefined
}

/** A copy's visits, and those of them that were looked at. */
export interface Sample {
  readonly linkId: number
  readonly seen: number
  readonly visits: readonly Visit[]
}

/** May a value be told by its name? */
export type Names = (linkId: number, dimension: number, value: string) => boolean

class LinkSums {
  people = 0
  withheld = 0
  detailed = 0
  /** Clicks that a sample stands for. */
  told = 0
  /** Somebody was not counted as a visitor who should be. */
  isShort = false
  readonly registers = new Set<number>()
  readonly cells = new Map<string, [dimension: number, value: string, total: number, people: number]>()

  add(
    { isPerson, isWithheld, values, register }: Visit,
    weight: number,
    names: (d: number, v: string) => boolean,
  ): void {
    this.detailed++
    this.told += weight
    const people = isPerson ? weight : 0
    this.people += people
    if (isPerson && isWithheld) {
      this.withheld += weight
      return
    }
    if (register !== undefined) this.registers.add(register)
    else if (isPerson) this.isShort = true
    values.forEach((value, dimension) => {
      if (value === undefined) return
      const named = names(dimension, value) ? value : otherValue
      const cell = this.cells.get(`${dimension} ${named}`)
      if (cell === undefined) this.cells.set(`${dimension} ${named}`, [dimension, named, weight, people])
      else {
        cell[2] += weight
        cell[3] += people
      }
    })
  }
}

export interface FoldingOptions {
  readonly names: Names
  /** Without it only people are told from others. */
  readonly details: boolean
}

/** Of every link with clicks, whose sum is what `rows` says. */
export function sumUp(rows: readonly Row[], samples: readonly Sample[], options: FoldingOptions): LinkVisits[] {
  const links = new Map<number, LinkSums>()
  for (const { linkId, seen, visits } of samples) {
    const sums = links.get(linkId) ?? new LinkSums()
    links.set(linkId, sums)
    const names = (dimension: number, value: string): boolean => options.names(linkId, dimension, value)
    const [share, more] = [Math.floor(seen / visits.length), seen % visits.length]
    visits.forEach((visit, n) => sums.add(visit, share + (n < more ? 1 : 0), names))
  }
  const shareOfPeople = peopleOf([...links.values()])
  return rows.flatMap(([linkId, clicks]): LinkVisits[] => {
    if (clicks === 0) return []
    const found = links.get(linkId)
    // More visits than clicks: nothing of that can be believed.
    const sums = found === undefined || found.told > clicks ? new LinkSums() : found
    const untold = clicks - sums.told
    const people = sums.people + Math.round(untold * shareOfPeople)
    if (!options.details) {
      return [
        { linkId, total: clicks, people, withheld: 0, detailed: 0, atLeast: true, visitors: undefined, cells: [] },
      ]
    }
    return [
      {
        linkId,
        total: clicks,
        people,
        withheld: sums.withheld,
        detailed: sums.detailed,
        atLeast: sums.detailed < clicks || sums.isShort,
        visitors: sums.registers.size > 0 ? encode(sums.registers) : undefined,
        cells: [...sums.cells.values()] satisfies Cell[],
      },
    ]
  })
}

/** Clicks that no sample stands for came from people as often as the others. */
function peopleOf(links: readonly LinkSums[]): number {
  const told = links.reduce((sum, link) => sum + link.told, 0)
  return told === 0 ? 1 : links.reduce((sum, { people }) => sum + people, 0) / told
}
