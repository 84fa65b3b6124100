// What drills about processes share: who works, and visitors who come anew.
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import type { Drill, DrillContext, Promised } from './engine/drill.ts'
import { counted, hot, warm } from './links.ts'

/** A visitor who was on a connection of a process that dies or hangs gets nothing. */
export const onConnections = [hot, warm, counted].map((group) => ({ ...group, may: [0] }))

const visitors = 100
const patienceMs = 5000

interface Slot {
  readonly pid: number | null
  readonly serving: boolean
}

export const slots = async ({ appliance }: DrillContext): Promise<Slot[]> =>
  (JSON.parse((await ask(appliance.opsUrl, '/statusz')).text) as { workers: Slot[] }).workers

/** Each on a connection of its own. */
export async function visit({ appliance, note }: DrillContext, when: string): Promise<void> {
  const beganMs = performance.now()
  const times = await Promise.all(
    Array.from({ length: visitors }, async (_, n) => {
      const answer = ask(appliance.url, `/${hot.prefix}${n % hot.count}`).catch(() => undefined)
      const { status } = (await Promise.race([answer, pause(patienceMs, undefined)])) ?? {}
      return status === 302 ? performance.now() - beganMs : undefined
    }),
  )
  note(`unanswered ${when}`, times.filter((ms) => ms === undefined).length)
  note(`slowest ${when}`, Math.max(...times.map((ms) => ms ?? patienceMs)))
}

/** Of those who came then: all are answered, and the slowest is no slower. */
export const answersVisitors = (when: string, who: string, atMostMs: number): Promised[] => [
  { what: `new visitors without an answer, of ${visitors}${who}`, figure: ({ noted }) => noted(`unanswered ${when}`), atMost: 0 },
  { what: 'the slowest of them', figure: ({ noted }) => noted(`slowest ${when}`), unit: 'ms', atMost: atMostMs, latency: true },
] // prettier-ignore

export const brokenConnections: Promised = {
  what: 'requests on its connections that got no answer, of 256 connections',
  figure: ({ fault }) => fault.count(0),
  atMost: 128,
}

/** Its primary process sees to it by itself. */
export const replaced = (what: string, gone: () => number): Drill['heal'] => ({
  what: `nothing: its primary process ${what}`,
  undo: () => Promise.resolve(),
  healed: {
    what: 'all workers serve, and it is none of them',
    check: async (context) => (await slots(context)).every(({ pid, serving }) => serving && pid !== gone()),
  },
})

export const replacedOnce: Promised = {
  what: 'workers that were replaced',
  figure: ({ grew }) => grew('quicklink_worker_restarts_total'),
  atMost: 1,
  atLeast: 1,
}
