// The Prometheus of `make up`: the system's program, if there is one, with the appliance's rules. Nothing needs it.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Places, Refusal, type Say, projectDir, readJson, rotate, writeJson } from './paths.ts'
import { type Daemon, type Stopped, daemon, launch } from './daemon.ts'
import { freePort } from './process.ts'
import { onPath } from './redis-process.ts'

interface State {
  readonly url: string
  readonly version: string
  readonly port: number
  readonly pid: number
}

const folderOf = ({ dataDir }: Places): string => join(dataDir, 'prometheus')
const configFileIn = (dir: string): string => join(dir, 'prometheus.yml')
const stateFileIn = (dir: string): string => join(dir, 'state.json')
const logFileIn = (dir: string): string => join(dir, 'prometheus.log')

function findPrometheus() {
  const file = onPath('prometheus')
  const [, version] = /version (\d\S*)/.exec(file ? spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout : '') ?? [] // prettier-ignore
  return file && version ? { file, version } : undefined
}

/** The appliance's, but for who is scraped: here there are no exporters, and nobody who sends mail. */
export function configFor(opsUrl: string, runbook: string): object {
  const dir = join(projectDir, 'prometheus')
  const { global, rule_files } = parse(readFileSync(join(dir, 'prometheus.yml'), 'utf8')) as {
    global: object
    rule_files: string[]
  }
  return {
    // As it is: a Prometheus 2 takes nothing from its environment.
    global: { ...global, external_labels: { runbook } },
    rule_files: rule_files.map((name) => join(dir, name)),
    scrape_configs: [{ job_name: 'quicklink', static_configs: [{ targets: [new URL(opsUrl).host] }] }],
  }
}

/** Where there is one; that it does not start is said, and all there is to do. */
export async function startPrometheus(
  places: Places,
  opsUrl: string,
  runbookUrl: string | undefined,
  say: Say,
): Promise<void> {
  // It outlives a crash of the rest, with the address of before: a start may bring another.
  await stopPrometheus(places)
  const program = findPrometheus()
  if (!program) return
  const dir = folderOf(places)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const port = await freePort(readJson<State>(stateFileIn(dir))?.port ?? 9090)
  const url = `http://127.0.0.1:${port}`
  // JSON is YAML.
  writeJson(configFileIn(dir), configFor(opsUrl, runbookUrl || `${url}/user/runbook.html`))
  rotate(logFileIn(dir))
  const args = [
    `--config.file=${configFileIn(dir)}`,
    `--storage.tsdb.path=${join(dir, 'data')}`,
    // The SLO looks back over 30 days.
    '--storage.tsdb.retention.time=40d',
    '--storage.tsdb.retention.size=2GB',
    `--web.listen-address=127.0.0.1:${port}`,
    '--web.enable-remote-write-receiver',
    // The page that the links of the alerts lead to.
    `--web.user-assets=${join(projectDir, 'prometheus', 'user')}`,
  ]
  const { file, version } = program
  const env = { PATH: process.env['PATH'] }
  try {
    await launch({
      ...{ name: `Prometheus ${version}`, file, args, cwd: dir, env, logFile: logFileIn(dir), detached: true },
      begun: (pid) => writeJson(stateFileIn(dir), { url, port, pid, version } satisfies State),
      ready: async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok ?? false,
      deadlineMs: 30_000,
      everyMs: 100,
    })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    say(error.message)
  }
}

export function runningPrometheus(places: Places): State | undefined {
  const running = prometheusDaemon(places).pid() !== undefined
  return running ? (readJson(stateFileIn(folderOf(places))) as State) : undefined
}

function prometheusDaemon(places: Places): Daemon {
  const dir = folderOf(places)
  return daemon({
    pid: () => readJson<State>(stateFileIn(dir))?.pid,
    word: configFileIn(dir),
    signals: [['SIGTERM', 15_000]],
  })
}

export const stopPrometheus = (places: Places): Promise<Stopped> => prometheusDaemon(places).stop()
