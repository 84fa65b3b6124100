// A drill from nothing to nothing. Whatever happens on the way, it is undone.
//
//   redis-refused.ts …   a Drill: load, fault, heal, each with a proof, and the promises (drill.ts)
//     │ runDrill
//     ▼
//   Appliance            a QuickLink of its own (embedded.ts, docker.ts) or a running one (target-embedded.ts, target-docker.ts)
//   DrillRun             baseline → fault, landed → heal, healed → steady again → clicks reconciled (drill-run.ts);
//     │                  the Drill acts by its DrillContext: appliance, load with its oracle, watch
//     ▼
//   Observed             answers and figures by phase (observed.ts), which judge.ts holds against the promises
//   DrillResult          checks, doubts, marks: report.ts makes the Report of it
//   Cleanup              what was started, written down as it starts: undone at the end, by Ctrl-C or by the dead man (safety.ts)
import { join } from 'node:path'
import { lastLines, Refusal } from '../../../embedded/paths.ts'
import { prepareAppliance, type Appliance, type Settings } from './appliance.ts'
import { startInDocker } from './docker.ts'
import { breakerOpen, Doubt, type Drill, type Options, secondsOf } from './drill.ts'
import { startEmbedded } from './embedded.ts'
import { DrillRun, type DrillResult } from './drill-run.ts'
import type { Cleanup } from './cleanup.ts'
import { checksAlerts, startPrometheus } from './prometheus.ts'
import { factor } from './rules.ts'
import { armDeadMan } from './safety.ts'
import { openComposeTarget } from './target-docker.ts'
import { openEmbeddedTarget } from './target-embedded.ts'

export async function runDrill(drill: Drill, options: Options): Promise<DrillResult> {
  // The rules of the alerts count on it: with their minutes it is divided, too.
  const breakerOpenMs = options.short || checksAlerts(options) ? breakerOpen.shortMs : breakerOpen.usualMs
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

async function applianceFor(drill: Drill, cleanup: Cleanup, settings: Settings, options: Options): Promise<Appliance> {
  const { mode, target, say } = options
  if (target !== undefined) {
    return target.project === undefined ? openEmbeddedTarget(cleanup, drill) : openComposeTarget(cleanup, target.project, drill)
  }
  say(`Starting a QuickLink of its own${mode === 'docker' ? ', in Docker' : ''}`)
  if (mode === 'docker') return startInDocker(cleanup, settings)
  const appliance = await startEmbedded(cleanup, settings)
  return checksAlerts(options) ? watched(appliance, await startPrometheus(cleanup, appliance.opsUrl)) : appliance
} // prettier-ignore

const watched = (appliance: Appliance, prometheusUrl: string): Appliance => ({
  ...appliance,
  prometheusUrl,
  hasExporters: false,
  mode: `${appliance.mode}; the system's Prometheus; the windows and waits of the alert rules, scrapes, and how long a breaker stays open, divided by ${factor}`,
})

/** Long enough for everything that may be waited for: containers start slowly, and alerts have their time. */
const maxSeconds = (drill: Drill, options: Options, breakerOpenMs: number): number =>
  (options.mode !== 'embedded' || checksAlerts(options) ? 480 : 240) +
  2 * secondsOf(drill, options) +
  breakerOpenMs / 1000
