// Answers of the API to those who read, asked for and not yet sent. A page of links may have a megabyte, and lies in memory until the
// client has taken it, which it may never do. So their number and their bytes are bounded, and one tenant has a share of
// the room only. What finds none is refused with 503, which is small.
import type { Response } from 'express'
import { limits } from '../limits.ts'
import { unavailable } from '../errors.ts'

type Bound = 'apiAnswers' | 'apiAnswersPerTenant' | 'apiAnswerBytes' | 'apiAnswerBytesPerTenant' | 'crowdedMs'

export type Answers = ReturnType<typeof createAnswers>

class Room {
  count = 0
  bytes = 0
  /** What an answer may have, until it is there: as much as the largest so far. */
  largest = 0

  add(count: number, bytes: number): void {
    this.count += count
    this.bytes += bytes
  }
}

const refusal = unavailable('Too many answers are under way: read those that you have asked for, and try again.')

/** Counts these bytes with the answer. Throws where there is no room for them. */
type Hold = (bytes: number) => void

export function createAnswers(onRefused: () => void, bounds: Readonly<Record<Bound, number>> = limits) {
  const all = new Room()
  const tenants = new Map<string, Room>()
  let refusedMs = -Infinity

  const refuse = (response: Response): never => {
    refusedMs = performance.now()
    onRefused()
    // What else was sent with it is not worked on.
    response.setHeader('Connection', 'close')
    throw refusal
  }
  const isFull = (own: Room, bytes: number): boolean =>
    all.bytes + bytes > bounds.apiAnswerBytes || own.bytes + bytes > bounds.apiAnswerBytesPerTenant

  return {
    /** Counts this answer until it is sent, or its connection is gone. Throws where there is no room for another. */
    begin(response: Response, tenant: string): void {
      // What was changed is told in a few bytes. And a client may have gone while it was found out who asks.
      if (response.req.method !== 'GET' || response.closed) return
      const own = tenants.get(tenant) ?? new Room()
      const isCrowded = all.count >= bounds.apiAnswers || own.count >= bounds.apiAnswersPerTenant
      // Before the work, not after it.
      if (isCrowded || isFull(own, own.largest)) refuse(response)
      tenants.set(tenant, own)
      let held = own.largest
      for (const room of [all, own]) room.add(1, held)
      const hold: Hold = (bytes) => {
        own.largest = Math.max(own.largest, bytes)
        if (isFull(own, bytes - held)) refuse(response)
        for (const room of [all, own]) room.add(0, bytes - held)
        held = bytes
      }
      response.locals['hold'] = hold
      response.once('close', () => {
        for (const room of [all, own]) room.add(-1, -held)
        if (own.count === 0) tenants.delete(tenant)
      })
    },
    /** Whether somebody was refused lately. */
    get isCrowded(): boolean {
      return performance.now() - refusedMs < 2 * bounds.crowdedMs
    },
  }
}

export const holdBytes = (response: Response, bytes: number): void =>
  (response.locals['hold'] as Hold | undefined)?.(bytes)
