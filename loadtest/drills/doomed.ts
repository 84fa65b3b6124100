// Links that are disabled while something is amiss: nobody may be led there again.
import type { DrillGroup, Promised, Stage } from './engine/drill.ts'
import { clockMs } from './engine/load.ts'

export const doomed: DrillGroup = { name: 'doomed', share: 5, prefix: 'doomed-', count: 20, pick: 'uniform' }

export async function disableDoomed({ appliance, load, mark }: Stage): Promise<void> {
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
