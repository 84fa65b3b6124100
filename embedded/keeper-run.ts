// The keeper of `make up`: what has died is started again, at once and then after growing pauses; logs stay bounded.
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { loadConfig } from '../server/config.ts'
import { nightlyBackup, nightsOf } from './backup.ts'
import { isHandsOff, keeping, type Restarts } from './keeper.ts'
import { alone } from './lock.ts'
import { Refusal, placesIn, readJson, rotate, writeJson } from './paths.ts'
import { postgresDaemon, rotatePostgresLog, startPostgres } from './postgres.ts'
import { logFileIn } from './redis-process.ts'
import { redisDaemon, startRedis } from './redis.ts'
import { runningServer, startServer, type ServerUrls } from './server.ts'

const everyMs = 1000
const mostPauseMs = 60_000
/** What lived for so long is no longer held against it. */
const forgivenMs = 300_000
const lookAtBackupsMs = 60_000
/** It may have filled the disk, and would do so again. */
const afterFailureMs = 3_600_000

const config = loadConfig(process.env)
const places = placesIn(config.dataDir)
/** By its name, so that it can be rotated meanwhile. The disk may be full: what dies is started again all the same. */
const say = (line: string): void => {
  try {
    appendFileSync(places.keeperLogFile, `${new Date().toISOString()} ${line}\n`, { mode: 0o600 })
  } catch {
    // The next line may find room.
  }
}
const silent = (): void => undefined

interface Kept {
  readonly name: string
  isUp(): boolean
  start(): Promise<unknown>
}

/** In the order in which they need each other. */
const all: readonly Kept[] = [
  {
    name: 'Postgres',
    isUp: () => postgresDaemon(places).pid() !== undefined,
    start: () => startPostgres(places, config.workers, silent),
  },
  {
    name: 'Redis',
    // Without a URL the server was started without it.
    isUp: () => !process.env['REDIS_URL_FILE'] || redisDaemon(places).pid() !== undefined,
    async start() {
      if ((await startRedis(places, say)) === undefined) throw new Refusal('see above.')
    },
  },
  {
    name: 'QuickLink',
    isUp: () => runningServer(places) !== undefined,
    async start() {
      const { url, localUrl, opsUrl } = readJson<ServerUrls>(places.serverFile) as ServerUrls
      await startServer(places, process.env, { url, localUrl, opsUrl })
    },
  },
]

const lives = new Map(all.map(({ name }) => [name, { pauseMs: 0, dueMs: 0, startedMs: 0 }]))
const restarts: Record<string, Restarts> = {}

async function startAgain({ name, start }: Kept): Promise<void> {
  const life = lives.get(name)!
  const nowMs = performance.now()
  if (nowMs < life.dueMs) return
  if (nowMs - life.startedMs > forgivenMs) life.pauseMs = 0
  life.pauseMs = Math.min(mostPauseMs, Math.max(everyMs, 2 * life.pauseMs))
  life.dueMs = nowMs + life.pauseMs
  const count = restarts[name]?.count ?? 0
  const lastAt = new Date().toISOString()
  say(`${name} has died: starting it`)
  try {
    await start()
    restarts[name] = { count: count + 1, lastAt }
    say(`${name} is up`)
  } catch (error) {
    const why = error instanceof Refusal ? error.message : String(error)
    restarts[name] = { count, lastAt, problem: why.split('\n', 1)[0] ?? '' }
    say(`${name} did not start: ${why}`)
  }
  life.startedMs = performance.now()
  writeJson(places.keeperFile, { pid: process.pid, restarts })
}

function rotateLogs(): void {
  try {
    for (const file of [places.logFile, places.keeperLogFile, logFileIn(places.redisDir)]) rotate(file)
    rotatePostgresLog(places)
  } catch {
    // Somebody else moved one away, or the folder is not writable: the next round tries again.
  }
}

let backupDueMs = 0
const nights = nightsOf(process.env)

/** Not waited for: it takes as long as the database is large, and what dies meanwhile is started again. */
async function lookAtBackups(): Promise<void> {
  backupDueMs = Infinity
  let nextMs = lookAtBackupsMs
  try {
    await nightlyBackup(places, nights, say)
  } catch (error) {
    nextMs = afterFailureMs
    say(`No backup: ${error instanceof Refusal ? error.message : String(error)}`)
  }
  backupDueMs = Date.now() + nextMs
}

writeJson(places.keeperFile, { pid: process.pid, restarts })
// Until another one begins.
while (keeping(places)?.pid === process.pid) {
  if (!isHandsOff(places) && all.some((kept) => !kept.isUp())) {
    // Somebody's `make up` or `make down` is under way: it knows better.
    await alone(places, async () => {
      for (const kept of all) if (!kept.isUp()) await startAgain(kept)
    }).catch(silent)
  }
  rotateLogs()
  if (Date.now() >= backupDueMs && postgresDaemon(places).pid() !== undefined) void lookAtBackups()
  await pause(everyMs)
}
