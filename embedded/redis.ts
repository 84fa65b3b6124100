// The Redis of `make up`. QuickLink serves without it, slower: so whatever is wrong here is said, and never stops a start.
import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Places, type Say, Refusal, newPassword, readJson, rotate, writeJson, writePrivate } from './paths.ts'
import { type Daemon, type Stopped, daemon } from './daemon.ts'
import { servicePort } from './server.ts'
import { canInstall, install, removePolicy } from './apt.ts'
import { type RedisProgram, askRedis, configFileIn, findRedis, launchRedis, logFileIn } from './redis-process.ts'

interface Settings {
  readonly port: number
  /** Of the operator. */
  readonly password: string
  readonly quicklinkPassword: string
  readonly pid?: number
  /** Of its configuration, after our own. */
  readonly lines?: readonly string[]
}

/** Undefined: there is none, and the reason has been said. A server that knows its URL goes on without it. Lines of configuration are remembered. */
export async function startRedis(places: Places, say: Say, given?: readonly string[]) {
  const { redisDir, redisFile } = places
  const known = readJson<Settings>(redisFile)
  if (isWhole(known) && redisDaemon(places).pid() !== undefined) return finish(places, known)
  // One that an earlier version left running knows no user of QuickLink's own.
  await stop(places)
  const program = await programFor(places, say)
  if (!program) return undefined
  const { password = newPassword(), quicklinkPassword = newPassword() } = known ?? {}
  const port = await portOrSay(places, known?.port, say)
  if (port === undefined) return undefined
  const settings = { port, password, quicklinkPassword, lines: given ?? known?.lines ?? [] }
  rotate(logFileIn(redisDir))
  return (await startOnce(places, program, settings, say)) ? finish(places, settings) : undefined
}

async function portOrSay(places: Places, before: number | undefined, say: Say): Promise<number | undefined> {
  try {
    return await servicePort(places, 'Redis', before)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    say(error.message)
    return undefined
  }
}

const isWhole = (known: Partial<Settings> | undefined): known is Settings =>
  known?.port !== undefined && known.password !== undefined && known.quicklinkPassword !== undefined

const operatorUrlOf = ({ port, password }: Pick<Settings, 'port' | 'password'>): string =>
  `redis://:${password}@127.0.0.1:${port}`

/** QuickLink's own URL, by which it may no more than it needs, and the operator's. */
function finish({ redisUrlFile }: Places, settings: Settings): { url: string; operatorUrl: string } {
  const url = `redis://quicklink:${settings.quicklinkPassword}@127.0.0.1:${settings.port}`
  writePrivate(redisUrlFile, `${url}\n`)
  return { url, operatorUrl: operatorUrlOf(settings) }
}

async function programFor(places: Places, say: Say): Promise<RedisProgram | undefined> {
  let found = findRedis()
  if (!found.program && !found.tooOld && canInstall() && (await install('redis-server', places.aptLogFile, say))) {
    found = findRedis()
  }
  if (found.program) return found.program
  const reason = found.tooOld ? `${found.tooOld} is too old` : 'no redis-server or valkey-server is installed'
  say(`The Redis tier is OFF: ${reason}. Redirects work, from memory and Postgres alone.`)
  say('To switch it on, install Redis 7.0 (or Valkey 8) or later, then `make down` and `make up`.')
  return undefined
}

/** A snapshot that cannot be loaded is put aside: it is only a cache. */
async function startOnce(places: Places, program: RedisProgram, settings: Settings, say: Say): Promise<boolean> {
  const dump = join(places.redisDir, 'dump.rdb')
  const begun = (pid: number): void => writeJson(places.redisFile, { ...settings, pid })
  const how = { file: program.file, dir: places.redisDir, detached: true, deadlineMs: 60_000, begun }
  for (const attempt of [1, 2]) {
    try {
      await launchRedis({ ...settings, ...how })
      return true
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      if (attempt === 2 || !existsSync(dump)) {
        say(`${program.version} does not start, so the Redis tier is off. ${error.message}`)
        return false
      }
      renameSync(dump, `${dump}.damaged`)
      say('Redis could not load its snapshot: it starts empty')
    }
  }
  return false
}

/** Of the one that runs with QuickLink, for who looks into it. */
export function redisOperatorUrl({ redisFile, redisUrlFile }: Places): string | undefined {
  const known = existsSync(redisUrlFile) ? readJson<Settings>(redisFile) : undefined
  return isWhole(known) ? operatorUrlOf(known) : undefined
}

export const redisDaemon = ({ redisFile, redisDir }: Places): Daemon =>
  daemon({
    pid: () => readJson<Settings>(redisFile)?.pid,
    word: configFileIn(redisDir),
    signals: [['SIGTERM', 15_000]],
  })

/** From now on the tier is off. */
export function stopRedis(places: Places): Promise<Stopped> {
  rmSync(places.redisUrlFile, { force: true })
  return stop(places)
}

function stop(places: Places): Promise<Stopped> {
  // Of an installation that was killed on the way.
  if (canInstall()) removePolicy()
  return redisDaemon(places).stop()
}

export async function redisVersion(places: Places): Promise<{ version: string; port: number } | undefined> {
  const settings = readJson<Settings>(places.redisFile)
  if (!settings?.port || !settings.password || redisDaemon(places).pid() === undefined) return undefined
  return { version: (await versionOf(settings.port, settings.password)) ?? 'does not answer', port: settings.port }
}

async function versionOf(port: number, password: string): Promise<string | undefined> {
  const info = await askRedis(port, password, 'INFO server')
  const [, valkey] = /^valkey_version:(\S+)/m.exec(info ?? '') ?? []
  const [, redis] = /^redis_version:(\S+)/m.exec(info ?? '') ?? []
  return valkey ? `Valkey ${valkey}` : redis && `Redis ${redis}`
}
