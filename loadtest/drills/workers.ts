// What drills about processes share: who works, and visitors who come anew.
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import type { DrillContext } from './engine/drill.ts'
import { counted, hot, warm } from './links.ts'

/** A visitor who was on a connection of a process that dies or hangs gets nothing. */
export const onConnections = [hot, warm, counted].map((group) => ({ ...group, may: [0] }))

export const visitors = 100
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
