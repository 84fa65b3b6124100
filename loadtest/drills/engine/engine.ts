// A drill from nothing to nothing. Whatever happens on the way, it is undone.
//
//   redis-refused.ts …   a Drill: load, fault, heal, each with a proof, and the promises (drill.ts)
//     │ runDrill
//     ▼
//   Appliance            a QuickLink of its own (embedded.ts, docker.ts) or a running one (target.ts)
//   DrillRun             baseline → fault, landed → heal, healed → steady again → clicks reconciled (drill-run.ts);
//     │                  the Drill acts by its DrillContext: appliance, load with its oracle, watch
//     ▼
//   Observed             answers and figures by phase (observed.ts), which judge.ts holds against the promises
//   DrillResult          checks, doubts, marks: report.ts makes the Report of it
//   Cleanup              what was started, written down as it starts: undone at the end, by Ctrl-C or by the dead man (safety.ts)
import { join } from 'node:path'
import { lastLines, Refusal } from '../../../embedded/paths.ts'
import { prepareAppliance, type Settings } from './appliance.ts'
import { startInDocker } from './docker.ts'
import { Doubt, type Drill, type Options, secondsOf } from './drill.ts'
import { startEmbedded } from './embedded.ts'
import { DrillRun, type DrillResult } from './drill-run.ts'
import type { Cleanup } from './cleanup.ts'
import { factor } from './rules.ts'
import { armDeadMan } from './safety.ts'
import { openTarget } from './target.ts'

export async function runDrill(drill: Drill, options: Options): Promise<DrillResult> {
  const breakerOpenMs = options.short || options.mode === 'docker' ? 30_000 / factor : 30_000
  const env = { BREAKER_OPEN_MS: String(breakerOpenMs), ...drill.settings?.env, ...options.env }
  const redis = [...(drill.settings?.redis ?? []), ...(options.redis ?? [])]
  const run = new DrillRun(drill, options, Number(env.BREAKER_OPEN_MS))
  const cleanup = prepareAppliance()
  const disarm = armDeadMan(cleanup.dir, maxSeconds(drill, options, breakerOpenMs))
  try {
    const settings = { ...drill.settings, env, redis, sources: options.sources }
    const appliance = await applianceFor(drill, cleanup, settings, options)
    options.say(`It is at ${appliance.url}, its state at ${appliance.opsUrl}/statusz`)
    const { grafana } = appliance
    if (grafana) options.say(`Grafana is at ${grafana.url} (admin; docker exec ${grafana.container} cat /run/quicklink/admin)`) // prettier-ignore
    await run.on(appliance)
  } catch (error) {
    if (error instanceof Refusal) throw error
    run.doubts.push(error instanceof Doubt ? error.message : `The drill could not go on: ${String(error)}.`)
  } finally {
    await run.end()
    run.log = lastLines(join(cleanup.dir, 'server.log'), 2000)
    await disarm()
  }
  return run.outcome(env)
}

async function applianceFor(drill: Drill, cleanup: Cleanup, settings: Settings, { mode, target, say }: Options) {
  if (target !== undefined) return openTarget(cleanup, target, drill)
  say(`Starting a QuickLink of its own${mode === 'docker' ? ', in Docker' : ''}`)
  return mode === 'docker' ? startInDocker(cleanup, settings) : startEmbedded(cleanup, settings)
}

/** Long enough for everything that may be waited for: containers start slowly, and alerts have their time. */
const maxSeconds = (drill: Drill, options: Options, breakerOpenMs: number): number =>
  (options.mode !== 'embedded' ? 480 : 120) + 2 * secondsOf(drill, options) + breakerOpenMs / 1000
