// A Redis or Valkey process of our own. Used by `make up` and by the tests.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { launch } from './daemon.ts'
import { projectDir } from './paths.ts'

export interface RedisProgram {
  readonly file: string
  /** As people say it: "Redis 7.0.15", "Valkey 8.1.0". */
  readonly version: string
}

const minimumMajor = { Redis: 7, Valkey: 8 }

/** The first one that is new enough; `tooOld` names one that is not. */
export function findRedis(): { program?: RedisProgram; tooOld?: string } {
  let tooOld: string | undefined
  for (const name of ['redis-server', 'valkey-server']) {
    const file = onPath(name)
    if (!file) continue
    const text = spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout
    const [, kind, version, major] = /(Redis|Valkey) server v=((\d+)[^ ]*)/.exec(text) ?? []
    if (!kind || !version) continue
    if (Number(major) >= minimumMajor[kind as 'Redis']) return { program: { file, version: `${kind} ${version}` } }
    tooOld = `${kind} ${version}`
  }
  return tooOld ? { tooOld } : {}
}

/** Also where packages put it although the PATH of a plain user or of cron does not have it. */
export function onPath(name: string): string | undefined {
  const usual = ['/usr/local/bin', '/usr/bin', '/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin']
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), ...usual].filter((folder) => folder !== '')
  return folders
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

export interface StartRedis {
  readonly file: string
  readonly dir: string
  readonly port: number
  /** Of `default`, who may all: the operator. */
  readonly password: string
  /** Of `quicklink`, who may what redis/quicklink.acl says. */
  readonly quicklinkPassword: string
  /** More lines of configuration: the last one wins. */
  readonly lines?: readonly string[]
  readonly detached: boolean
  readonly deadlineMs: number
  readonly begun?: (pid: number) => void
}

export const configFileIn = (dir: string): string => join(dir, 'redis.conf')
export const logFileIn = (dir: string): string => join(dir, 'redis.log')

/** A file, because a command line is public. */
function writeConfig(options: StartRedis): string {
  const file = configFileIn(options.dir)
  const lines = [
    '# Written at every start. The settings and their reasons are in the included file.',
    `include ${quoted(join(projectDir, 'redis', 'redis.conf'))}`,
    'bind 127.0.0.1',
    `port ${options.port}`,
    `requirepass ${quoted(options.password)}`,
    `user ${quicklinkUser(options.quicklinkPassword).join(' ')}`,
    `dir ${quoted(options.dir)}`,
    'daemonize no',
    // By its name, so that it can be rotated while Redis runs.
    `logfile ${quoted(logFileIn(options.dir))}`,
    ...(options.lines ?? []),
  ]
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 })
  return file
}

const quoted = (text: string): string => JSON.stringify(text)

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** With the rights that it has in the appliance. */
export function quicklinkUser(password: string): string[] {
  const rules = readFileSync(join(projectDir, 'redis', 'quicklink.acl'), 'utf8').replace(/^#.*\n/gm, '')
  return ['quicklink', 'on', `#${sha256(password)}`, ...rules.trim().split(' ')]
}

/** Its pid, once it answers: a snapshot is loaded first. */
export function launchRedis(options: StartRedis): Promise<number> {
  mkdirSync(options.dir, { recursive: true, mode: 0o700 })
  const { file, dir, port, password, detached, deadlineMs, begun } = options
  return launch({
    ...{ name: 'Redis', cwd: dir, logFile: logFileIn(dir), detached, deadlineMs, everyMs: 10 },
    ...(begun ? { begun } : {}),
    file: '/bin/sh',
    // Its snapshot is nobody else's to read.
    args: ['-c', 'umask 077; exec "$0" "$@"', file, writeConfig(options)],
    env: { PATH: process.env['PATH'], TZ: 'UTC' },
    ready: async () => (await askRedis(port, password, 'PING')) === '+PONG',
  })
}

/** One command in Redis' inline form; the whole answer as it came, undefined when there is none within 500 ms. */
export function askRedis(port: number, password: string, command: string, host = '127.0.0.1', user = 'default') {
  return new Promise<string | undefined>((resolve) => {
    const socket = connect({ port, host })
    let answer = ''
    socket.setTimeout(500, () => socket.destroy())
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => (answer += text))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      const [, rest] = /^\+OK\r\n([^]*)\+OK\r\n$/.exec(answer) ?? []
      resolve(rest?.trim())
    })
    // QUIT makes Redis close the connection once it has answered.
    socket.write(`AUTH ${user} ${quoted(password)}\r\n${command}\r\nQUIT\r\n`)
  })
}
