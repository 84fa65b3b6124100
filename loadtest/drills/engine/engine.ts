// A drill from nothing to nothing: a QuickLink is started, the drill lives on it, and whatever happens, it is undone.
import { join } from 'node:path'
import { lastLines, Refusal } from '../../../embedded/paths.ts'
import { prepareAppliance, type Settings } from './appliance.ts'
import { startInDocker } from './docker.ts'
import type { Drill } from './drill.ts'
import { startEmbedded } from './embedded.ts'
import { Life } from './drill-run.ts'
import { secondsOf, type Lived, type Options } from './lived.ts'
import { Doubt } from './proof.ts'
import type { Remains } from './cleanup.ts'
import { factor } from './rules.ts'
import { armDeadMan } from './safety.ts'
import { openTarget } from './target.ts'

export async function live(drill: Drill, options: Options): Promise<Lived> {
  const breakerOpenMs = options.short || options.mode === 'docker' ? 30_000 / factor : 30_000
  const env = { BREAKER_OPEN_MS: String(breakerOpenMs), ...drill.settings?.env, ...options.env }
  const redis = [...(drill.settings?.redis ?? []), ...(options.redis ?? [])]
  const run = new Life(drill, options, Number(env.BREAKER_OPEN_MS))
  const remains = prepareAppliance()
  const disarm = armDeadMan(remains.dir, maxSeconds(drill, options, breakerOpenMs))
  try {
    const settings = { ...drill.settings, env, redis, sources: options.sources }
    const appliance = await applianceFor(drill, remains, settings, options)
    options.say(`It is at ${appliance.url}, its state at ${appliance.opsUrl}/statusz`)
    const { grafana } = appliance
    if (grafana) options.say(`Grafana is at ${grafana.url} (admin; docker exec ${grafana.container} cat /run/quicklink/admin)`) // prettier-ignore
    await run.on(appliance)
  } catch (error) {
    if (error instanceof Refusal) throw error
    run.doubts.push(error instanceof Doubt ? error.message : `The drill could not go on: ${String(error)}.`)
  } finally {
    await run.end()
    run.log = lastLines(join(remains.dir, 'server.log'), 2000)
    await disarm()
  }
  return run.outcome(env)
}

async function applianceFor(drill: Drill, remains: Remains, settings: Settings, { mode, target, say }: Options) {
  if (target !== undefined) return openTarget(remains, target, drill)
  say(`Starting a QuickLink of its own${mode === 'docker' ? ', in Docker' : ''}`)
  return mode === 'docker' ? startInDocker(remains, settings) : startEmbedded(remains, settings)
}

/** Long enough for everything that may be waited for: containers start slowly, and alerts have their time. */
const maxSeconds = (drill: Drill, options: Options, breakerOpenMs: number): number =>
  (options.mode !== 'embedded' ? 480 : 120) + 2 * secondsOf(drill, options) + breakerOpenMs / 1000
