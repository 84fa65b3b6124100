// The Prometheus of a drill without Docker: the system's, if there is one, with the appliance's rules in a drill's time.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { launch } from '../../../embedded/daemon.ts'
import { freePort } from '../../../embedded/process.ts'
import { onPath } from '../../../embedded/redis-process.ts'
import type { Cleanup } from './cleanup.ts'
import type { Options } from './drill.ts'
import { scrapingOnly, writeRules } from './rules.ts'

/** In the short form there is no time for them: they wait for what has lasted. */
export const checksAlerts = ({ mode, short }: Pick<Options, 'mode' | 'short'>): boolean =>
  mode === 'docker' || (mode === 'embedded' && !short && onPath('prometheus') !== undefined)

export async function startPrometheus(cleanup: Cleanup, opsUrl: string): Promise<string> {
  const { dir } = cleanup
  writeRules(dir)
  const configFile = join(dir, 'prometheus-embedded.yml')
  writeFileSync(configFile, JSON.stringify(scrapingOnly(new URL(opsUrl).host)))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  await launch({
    name: 'Prometheus',
    file: 'prometheus',
    args: [`--config.file=${configFile}`, `--storage.tsdb.path=${join(dir, 'tsdb')}`, `--web.listen-address=127.0.0.1:${port}`],
    cwd: dir,
    env: { PATH: process.env['PATH'] },
    logFile: join(dir, 'prometheus.log'),
    detached: true,
    begun: (pid) => cleanup.add({ pid, word: configFile }),
    ready: async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok ?? false,
    deadlineMs: 30_000,
    everyMs: 100,
  })
  return url
} // prettier-ignore
