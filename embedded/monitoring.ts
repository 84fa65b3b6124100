// What watches the QuickLink of `make up`: the system's Prometheus, if there is one, with the appliance's rules, and its
// Alertmanager, with the appliance's routes and whoever is to be told. Nothing needs them.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import {
  type Places,
  Refusal,
  type Say,
  projectDir,
  readJson,
  readText,
  rotate,
  writeJson,
  writePrivate,
} from './paths.ts'
import { type Daemon, type Stopped, daemon, launch } from './daemon.ts'
import { freePort } from './process.ts'
import { alertmanagerConfig } from './receiver.ts'
import { onPath } from './redis-process.ts'

interface State {
  readonly url: string
  readonly version: string
  readonly port: number
  readonly pid: number
}

interface Program {
  readonly name: string
  /** As their makers and the distributions call it. */
  readonly files: readonly string[]
  /** In the data folder. */
  readonly folder: string
  readonly port: number
  readonly args: (dir: string) => readonly string[]
}

const prometheus: Program = {
  name: 'Prometheus',
  files: ['prometheus'],
  folder: 'prometheus',
  port: 9090,
  args: (dir) => [
    `--storage.tsdb.path=${join(dir, 'data')}`,
    // The SLO looks back over 30 days.
    '--storage.tsdb.retention.time=40d',
    '--storage.tsdb.retention.size=2GB',
    '--web.enable-remote-write-receiver',
    // The page that the links of the alerts lead to.
    `--web.user-assets=${join(projectDir, 'prometheus', 'user')}`,
  ],
}

const alertmanager: Program = {
  name: 'Alertmanager',
  files: ['alertmanager', 'prometheus-alertmanager'],
  folder: 'alertmanager',
  port: 9093,
  // One of its kind: nobody to agree with.
  args: (dir) => [`--storage.path=${join(dir, 'data')}`, '--cluster.listen-address='],
}

function filesOf({ dataDir }: Places, { folder }: Program) {
  const dir = join(dataDir, folder)
  const named = (name: string): string => join(dir, name)
  return { dir, config: named(`${folder}.yml`), state: named('state.json'), log: named(`${folder}.log`) }
}

export const alertmanagerLogFile = (places: Places): string => filesOf(places, alertmanager).log

/** The appliance's, but for who is scraped: here there are no exporters. */
export function configFor(opsUrl: string, runbook: string, alertmanagerUrl: string | undefined): object {
  const dir = join(projectDir, 'prometheus')
  const { global, rule_files } = parse(readFileSync(join(dir, 'prometheus.yml'), 'utf8')) as {
    global: object
    rule_files: string[]
  }
  const targets = (...urls: string[]): object[] => [{ targets: urls.map((url) => new URL(url).host) }]
  return {
    // As it is: a Prometheus 2 takes nothing from its environment.
    global: { ...global, external_labels: { runbook } },
    rule_files: rule_files.map((name) => join(dir, name)),
    ...(alertmanagerUrl && { alerting: { alertmanagers: [{ static_configs: targets(alertmanagerUrl) }] } }),
    scrape_configs: [{ job_name: 'quicklink', static_configs: targets(opsUrl) }],
  }
}

/** Where there are such programs; that one does not start is said, and all there is to do. What runs as it should goes on. */
export async function startMonitoring(places: Places, opsUrl: string, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const told = alertmanagerConfig(env)
  if (find(prometheus)) await keep(places, alertmanager, () => told, say)
  const alertmanagerUrl = runningAlertmanager(places)?.url
  const runbook = (url: string): string => env['RUNBOOK_URL'] || `${url}/user/runbook.html`
  await keep(places, prometheus, (url) => configFor(opsUrl, runbook(url), alertmanagerUrl), say)
}

export const runningPrometheus = (places: Places): State | undefined => running(places, prometheus)
export const runningAlertmanager = (places: Places): State | undefined => running(places, alertmanager)
export const stopPrometheus = (places: Places): Promise<Stopped> => daemonOf(places, prometheus).stop()
export const stopAlertmanager = (places: Places): Promise<Stopped> => daemonOf(places, alertmanager).stop()

function find({ files }: Program) {
  for (const name of files) {
    const file = onPath(name)
    const { stdout = '', stderr = '' } = file ? spawnSync(file, ['--version'], { encoding: 'utf8' }) : {}
    const [, version] = /version (\d\S*)/.exec(stdout + stderr) ?? []
    if (file && version) return { file, version: version.replace(/,$/, '') }
  }
  return undefined
}

const asJson = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

async function keep(places: Places, program: Program, configAt: (url: string) => object, say: Say): Promise<void> {
  const { dir, config, state, log } = filesOf(places, program)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const known = running(places, program)
  // JSON is YAML.
  if (known && readText(config) === asJson(configAt(known.url))) {
    // The rules may be newer than the program.
    process.kill(known.pid, 'SIGHUP')
    return
  }
  // It outlives a crash of the rest, with the address of before, or another receiver.
  await daemonOf(places, program).stop()
  const found = find(program)
  if (!found) return
  const { file, version } = found
  rotate(log)
  const port = await freePort(readJson<State>(state)?.port ?? program.port)
  const url = `http://127.0.0.1:${port}`
  writePrivate(config, asJson(configAt(url)))
  const args = [`--config.file=${config}`, `--web.listen-address=127.0.0.1:${port}`, ...program.args(dir)]
  const env = { PATH: process.env['PATH'] }
  try {
    await launch({
      ...{ name: `${program.name} ${version}`, file, args, cwd: dir, env, logFile: log, detached: true },
      begun: (pid) => writeJson(state, { url, port, pid, version } satisfies State),
      ready: async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok ?? false,
      deadlineMs: 30_000,
      everyMs: 100,
    })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    say(error.message)
  }
}

const running = (places: Places, program: Program): State | undefined =>
  daemonOf(places, program).pid() === undefined ? undefined : (readJson(filesOf(places, program).state) as State)

function daemonOf(places: Places, program: Program): Daemon {
  const { state, config } = filesOf(places, program)
  return daemon({ pid: () => readJson<State>(state)?.pid, word: config, signals: [['SIGTERM', 15_000]] })
}
