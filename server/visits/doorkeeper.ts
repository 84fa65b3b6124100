// Which values are told by their name. Strangers choose referrers and campaigns, and as many as they like: of a link's
// dimension a number of new ones is named as they come, and from then on only one that has come before, lately. What people
// really come from comes again; a flood of random ones never does, and is `other`. The memory is fixed: a table in which a
// value is remembered until another one falls on its place.
import { crc32 } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { limits } from '../limits.ts'
import { dimensions, type Dimension } from './batch.ts'

/** Of the others there are no more than we, or the world, have words for. */
const chosenByStrangers: readonly Dimension[] = ['referrer', 'utm_source', 'utm_medium', 'utm_campaign', 'browser', 'language'] // prettier-ignore
const isChosen = dimensions.map((dimension) => chosenByStrangers.includes(dimension))

export function createDoorkeeper() {
  const seen = new Uint32Array(limits.visitValuesRemembered)
  const named = new LRUCache<number, number>({ max: limits.visitDimensions })
  let hour = -1
  return {
    lets(linkId: number, dimension: number, value: string, hourMs: number): boolean {
      if (isChosen[dimension] !== true) return true
      if (hourMs !== hour) named.clear()
      hour = hourMs
      const key = linkId * dimensions.length + dimension
      const mark = crc32(`${key} ${value}`) || 1
      const place = mark % seen.length
      if (seen[place] === mark) return true
      seen[place] = mark
      const count = named.get(key) ?? 0
      if (count >= limits.visitValuesNamed) return false
      named.set(key, count + 1)
      return true
    },
  }
}
