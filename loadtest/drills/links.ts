// The links that drills ask for.
import type { DrillGroup, Promised, DrillContext } from './engine/drill.ts'
import { clockMs } from './engine/load.ts'

/** A few popular ones: most requests find them in tier 1. */
export const hot: DrillGroup = { name: 'hot', share: 5, prefix: 'hot-', count: 100, pick: 'zipf' }

/** In Redis, and seldom in tier 1: several times as many as a process holds. */
export const warm: DrillGroup = { name: 'warm', share: 4, prefix: 'warm-', count: 6000, pick: 'uniform' }

/** In Postgres alone: each is asked for once. */
export const cold: DrillGroup = { name: 'cold', share: 1, prefix: 'cold-', count: 20_000, pick: 'fresh', cold: true }

/** Disabled while something is amiss: nobody may be led there again. */
export const doomed: DrillGroup = { name: 'doomed', share: 5, prefix: 'doomed-', count: 20, pick: 'uniform' }

export async function disableDoomed({ appliance, load, mark }: DrillContext): Promise<void> {
  for (let n = 0; n < doomed.count; n++) {
    const code = `${doomed.prefix}${n}`
    // From now on, not from the answer: a visitor may be told 404 before we hear that it is done. Stricter than the promise by
    // as long as the change takes.
    load.changed(code, clockMs(), 404)
    const { status } = await appliance.api('PATCH', `/links/${code}`, { enabled: false })
    if (status !== 200) throw new Error(`disabling ${code} was answered ${status}`)
  }
  mark(`${doomed.count} links are disabled`)
}

/** Otherwise their silence would prove nothing. */
export const doomedAreAsked: Promised = {
  what: 'requests for disabled links after Redis came back',
  figure: ({ recovery, after }) => recovery.of('doomed').answers.length + after.of('doomed').answers.length,
  atLeast: 200,
}
