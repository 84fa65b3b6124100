// Which k6 runs the scenarios: the one of this machine, or, beside a QuickLink in Docker, the container of the compose
// profile `load`.
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { Refusal, projectDir } from '../../embedded/paths.ts'
import { onPath } from '../../embedded/redis-process.ts'
import { pidOfContainer } from '../faults/containers.ts'

/** What the scripts read (loadtest/k6/lib). Nothing secret stands in a command line. */
export type K6Env = Readonly<Record<string, string>>

export interface K6 {
  readonly version: string
  /** What it needs to know of where it runs, on top of what every run sets. */
  readonly env: K6Env
  /** The file of a scenario, as it sees it. */
  script(name: string): string
  command(args: readonly string[], env: K6Env): Command
}

interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  /** A Ctrl-C at the terminal is not for it: it would go and leave k6 behind. */
  readonly detached: boolean
  /** Of k6, when the command that was started has this one. */
  pid(started: number | undefined): number | undefined
  /** As Ctrl-C to k6: it ends by itself, soon. */
  stop(started: ChildProcess): void
}

/** Other K6_… of the caller would change the load. */
const always: K6Env = {
  K6_NO_USAGE_REPORT: 'true',
  K6_CSV_TIME_FORMAT: 'unix_milli',
  K6_CSV_SAVE_INTERVAL: '200ms',
  K6_PROMETHEUS_RW_TREND_STATS: 'p(50),p(99),max',
}

/**
 * k6 collects its garbage only when memory asks for it: a collection takes a core from the server for as long as the
 * slowest answers take. docker-compose.yml says so of the container.
 */
const collector: K6Env = { GOGC: 'off', GOMEMLIMIT: `${Math.min(2048, Math.floor(totalmem() / 2 ** 20 / 6))}MiB` }

const ofThisMachine = (file: string): Omit<K6, 'version'> => ({
  env: {},
  script: (name) => `${projectDir}/loadtest/k6/${name}.ts`,
  command: (args, env) => ({
    file,
    args,
    environment: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...collector, ...always, ...env },
    detached: false,
    pid: (started) => started,
    stop: (started) => void started.kill('SIGINT'),
  }),
})

let containers = 0

/** Inside the compose network: QuickLink and Prometheus are reached by their names. */
const inContainer: Omit<K6, 'version'> = {
  env: { URL: 'http://quicklink:8080', K6_PROMETHEUS_RW_SERVER_URL: 'http://prometheus:9090/api/v1/write' },
  script: (name) => `/scripts/${name}.ts`,
  command(args, env) {
    const name = `quicklink-k6-${process.pid}-${++containers}`
    const handed = { ...always, ...this.env, ...env }
    // Names alone: the values come from the environment of the command.
    const named = Object.keys(handed).map((each) => `--env=${each}`)
    const run = ['compose', '--profile=load', 'run', '--rm', '--no-deps', '--no-TTY', '--quiet-pull', `--name=${name}`]
    return {
      file: 'docker',
      args: [...run, ...named, 'k6', ...args],
      environment: { ...process.env, ...handed },
      detached: true,
      pid: () => pidOfContainer(name),
      stop: () =>
        void spawn('docker', ['kill', '--signal=INT', name], { stdio: 'ignore' }).on('error', () => undefined),
    }
  },
}

/** Made by `make k6`. */
const built = `${projectDir}/.cache/k6/k6`

/** K6=docker takes the container although there is a k6 here. */
export function findK6(besideDocker: boolean, wish?: string): K6 {
  const file = onPath('k6') ?? (existsSync(built) ? built : undefined)
  if (besideDocker && (file === undefined || wish === 'docker')) return withVersion(inContainer)
  if (wish === 'docker') throw new Refusal('K6=docker is for a QuickLink of `docker compose`; here none runs.')
  if (file !== undefined) return withVersion(ofThisMachine(file))
  throw new Refusal(
    'k6 is missing: `make k6` builds it (needs Go), or install it from https://grafana.com/docs/k6. `make load NAME=quick` needs neither.',
  )
}

function withVersion(k6: Omit<K6, 'version'>): K6 {
  const { file, args, environment } = k6.command(['version'], {})
  const { stdout, stderr, status } = spawnSync(file, args, { encoding: 'utf8', env: environment, cwd: projectDir })
  if (status !== 0) throw new Refusal(`k6 does not start: ${stderr.trim().split('\n').slice(-3).join('; ')}`)
  const version = /v\d\S*/.exec(stdout)?.[0] ?? 'unknown'
  if (Number(/\d+/.exec(version)?.[0]) < 1) {
    throw new Refusal(`k6 ${version} does not run TypeScript: k6 1.0 or later is needed, or \`make k6\` without it.`)
  }
  return { ...k6, version }
}
