// A standby near by, as one worker has it.
import { changeSeen } from '../config.ts'
import type { Databases } from '../connections/databases.ts'
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import { News } from './news.ts'
import { watchStandby } from './standby.ts'
import { createNearTruth, type Truth } from './truth.ts'

export type Near = NonNullable<ReturnType<typeof openStandby>>

/** Undefined: there is none. */
export function openStandby(
  { config, metrics, troubles, onClose }: Ground,
  { databases, truth, clockMs }: { databases: Databases; truth: Truth; clockMs: () => number },
) {
  if (!databases.near) return undefined
  const near = createNearTruth(databases.near.redirects, databases.near.passes)
  const state = watchStandby({
    near,
    far: databases.limits,
    everyMs: config.relayIntervalMs,
    lagMaxS: config.replicaLagMaxS,
    pauseMs: config.dbBreakerOpenMs,
    nowMs: () => performance.now(),
    clockMs,
    onError: (err, what) => troubles.warn({ err }, what),
  })
  onClose(state.stop)
  metrics.tierConfigured.set({ tier: 'replica' }, 1)
  metrics.onCollect(() => {
    const lagS = state.lagS()
    if (Number.isFinite(lagS)) metrics.replicaLag.set(lagS)
  })
  const inNeed = state.inNeed(truth, changeSeen(config).behindMs, () => metrics.replicaAlone.inc({ what: 'pass' }))
  return { near, state, news: new News(limits.newsMost), inNeed }
}
