// From nothing to a running QuickLink, without Docker. Every step is harmless when it was done before.
import { existsSync } from 'node:fs'
import { type Config, ConfigError, loadConfig } from '../server/config.ts'
import { nightsOf } from './backup.ts'
import { buildConsole } from './console.ts'
import { startKeeper } from './keeper.ts'
import { alone } from './lock.ts'
import { type Places, Refusal, type Say, makeDataDir, placesIn, shown, writePrivate } from './paths.ts'
import { postgresDaemon, startPostgres } from './postgres.ts'
import { freePort, portProblem } from './process.ts'
import { until } from './wait.ts'
import { runningAlertmanager, runningPrometheus, startMonitoring } from './monitoring.ts'
import { alertmanagerConfig, hearersIn, howToBeTold, receiverSettings } from './receiver.ts'
import { redisDaemon, startRedis, stopRedis } from './redis.ts'
import { askHere, sayConsole } from './sign-in.ts'
import { type ServerUrls, fetchOps, isReady, runningServer, startServer } from './server.ts'

/** For another one that is under way. */
const waitMs = 20_000

/** What the services we start decide; a value from outside would contradict them. */
const ours = ['DATABASE_URL', 'REDIS_URL', 'REDIS_SENTINELS', 'REDIS_SENTINEL_NAME']

export async function up(env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const config = refuseBadSettings(env, say)
  const places = placesIn(config.dataDir)
  makeDataDir(places)
  await alone(
    places,
    async () => {
      const already = runningServer(places)
      if (already) {
        await heal(places, config, say)
        await startMonitoring(places, already.opsUrl, env, say)
        await startKeeper(places, serverEnv(env, places, urlsOf(already), existsSync(places.redisUrlFile)))
        if (!(await until(() => isReady(already), 20_000, 200))) {
          throw new Refusal('QuickLink is running, but not ready: see `make logs`, or `make down` and `make up`.')
        }
        say('QuickLink is already running (`make down` first, to start it with other settings).')
        await closingLines(places, already, env, say)
        return
      }
      const urls = await freeUrls(config)
      writePrivate(places.modeFile, 'embedded\n')
      const built = config.console === 'on' ? buildConsole(say) : undefined
      say('Starting Postgres')
      await startPostgres(places, config.workers, say)
      say('Starting Redis')
      const redis = await startRedis(places, say)
      if (redis === undefined) await stopRedis(places)
      await built
      say(`Starting QuickLink (log: ${shown(places.logFile)})`)
      const settings = serverEnv(env, places, urls, redis !== undefined)
      const server = await startServer(places, settings, urls)
      await sayIfDegraded(server, redis !== undefined, say)
      await startMonitoring(places, server.opsUrl, env, say)
      await startKeeper(places, settings)
      await closingLines(places, server, env, say)
    },
    waitMs,
  )
}

/** What it needs and has died is started again. */
async function heal(places: Places, config: Config, say: Say): Promise<void> {
  if (postgresDaemon(places).pid() === undefined) {
    say('Postgres is down: starting it')
    await startPostgres(places, config.workers, say)
  }
  // Without a URL in its file the tier is off.
  if (existsSync(places.redisUrlFile) && redisDaemon(places).pid() === undefined) {
    say('Redis is down: starting it')
    await startRedis(places, say)
  }
}

/** What is wrong in any setting is said here, and not in the log of the keeper or when all has been started. */
export function refuseBadSettings(env: NodeJS.ProcessEnv, say: Say): Config {
  const config = readConfig(env, say)
  nightsOf(env)
  alertmanagerConfig(env)
  return config
}

/** The server would refuse a bad set too, but only after the services were started. */
function readConfig(env: NodeJS.ProcessEnv, say: Say): Config {
  const given = ours.filter((name) => env[name] || env[`${name}_FILE`])
  if (given.length > 0) {
    const verb = given.length > 1 ? 'are' : 'is'
    say(`${given.join(', ')} ${verb} ignored: \`make up\` brings its own services (\`npm run serve\` uses yours).`)
  }
  try {
    return loadConfig({ ...withoutOurs(env), DATABASE_URL: 'postgres://127.0.0.1/quicklink' })
  } catch (error) {
    if (error instanceof ConfigError) throw new Refusal(error.message)
    throw error
  }
}

/** Who is told of alerts is none of the server's business. */
const notTheServers: readonly string[] = [...ours, ...ours.map((name) => `${name}_FILE`), ...receiverSettings]
const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !notTheServers.includes(name)))

interface Urls extends ServerUrls {
  readonly port: number
  readonly opsPort: number
}

async function freeUrls(config: Config): Promise<Urls> {
  const port = config.port || (await freePort())
  const opsPort = config.opsPort || (await freePort())
  await refuseTaken(port, config.host, 'PORT')
  await refuseTaken(opsPort, config.opsHost, 'OPS_PORT')
  const url = config.port ? config.publicUrl : `http://localhost:${port}`
  const reach = (host: string): string => (['0.0.0.0', '::', '127.0.0.1', 'localhost'].includes(host) ? '' : host)
  const localUrl = `http://${reach(config.host) || 'localhost'}:${port}`
  return { port, opsPort, url, localUrl, opsUrl: `http://${reach(config.opsHost) || '127.0.0.1'}:${opsPort}` }
}

/** Of one that runs. */
function urlsOf(server: ServerUrls): Urls {
  const portOf = (url: string): number => Number(new URL(url).port || 80)
  return { ...server, port: portOf(server.localUrl), opsPort: portOf(server.opsUrl) }
}

async function refuseTaken(port: number, host: string, variable: string): Promise<void> {
  let problem: string | undefined
  // A killed server's workers need a moment to notice.
  await until(async () => (problem = await portProblem(port, host)) !== 'EADDRINUSE', 2000)
  if (problem === undefined) return
  const other = `set ${variable} to a free one, e.g. ${variable}=${port < 1024 ? port + 8000 : port + 1} make up.`
  if (problem === 'EADDRINUSE') throw new Refusal(`Port ${port} is taken by another program: ${other}`)
  if (problem === 'EACCES') throw new Refusal(`Port ${port} needs more rights than you have: ${other}`)
  throw new Refusal(`${host}:${port} cannot be listened on (${problem}): check ${variable.replace('PORT', 'HOST')}.`)
}

function serverEnv(env: NodeJS.ProcessEnv, places: Places, urls: Urls, redis: boolean): NodeJS.ProcessEnv {
  return {
    ...withoutOurs(env),
    PORT: String(urls.port),
    OPS_PORT: String(urls.opsPort),
    DATA_DIR: places.dataDir,
    // By its name, so that it can be rotated while it is written.
    LOG_FILE: places.logFile,
    // Files, so that no password stands in an environment.
    DATABASE_URL_FILE: places.databaseUrlFile,
    ...(redis ? { REDIS_URL_FILE: places.redisUrlFile } : {}),
  }
}

async function sayIfDegraded(server: ServerUrls, redis: boolean, say: Say): Promise<void> {
  let state: { status?: string; redis?: string; postgres?: string } = {}
  const sound = async (): Promise<boolean> => {
    state = JSON.parse((await fetchOps(server, '/readyz'))?.text || '{}') as typeof state
    return state.postgres !== 'down' && !(redis && state.redis === 'down')
  }
  if (await until(sound, 10_000, 200)) return
  say(`It runs, but not everything does: Postgres is ${state.postgres}, Redis is ${state.redis}. See \`make logs\`.`)
}

async function closingLines(places: Places, server: ServerUrls, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const generated = existsSync(places.ownerKeyFile)
  const key = generated ? `$(cat ${quoteIfNeeded(shown(places.ownerKeyFile))})` : '$OWNER_KEY'
  const keyIsIn = generated ? shown(places.ownerKeyFile) : keySource(env)
  say('')
  say(`QuickLink is running at ${server.url}`)
  await sayConsole(askHere(places, server.localUrl, env), server.url, env, say)
  say(`The owner key is in ${keyIsIn}`)
  say(monitoring(places, server, env))
  say('Make a first link:')
  say('')
  say(
    `  curl -s ${server.localUrl}/api/v1/links -H "Authorization: Bearer ${key}" ` +
      `-H 'Content-Type: application/json' -d '{"url":"https://example.com/"}'`,
  )
  say('')
}

function monitoring(places: Places, { opsUrl }: ServerUrls, env: NodeJS.ProcessEnv): string {
  const prometheus = runningPrometheus(places)
  const alertmanager = runningAlertmanager(places)
  if (!prometheus) {
    return `Nothing watches it: install prometheus and alertmanager for the alerts, then make up (metrics: ${opsUrl}/metrics)`
  }
  const seen = `Prometheus, with the alerts, is at ${prometheus.url}`
  if (!alertmanager)
    return `${seen}; nobody is told of them, because no Alertmanager runs: install alertmanager, then make up`
  const whoHears = hearersIn(alertmanagerConfig(env)).length > 0 ? '`make test-alert` sends one through' : howToBeTold
  return `${seen}, Alertmanager at ${alertmanager.url}; ${whoHears}`
}

const quoteIfNeeded = (path: string): string => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`)

const keySource = (env: NodeJS.ProcessEnv): string => env['OWNER_KEY_FILE'] ?? 'the OWNER_KEY that it was started with'

/** For `make logs` and `make status`, which ask no configuration. */
export const placesFrom = (env: NodeJS.ProcessEnv): Places => placesIn(env['DATA_DIR'] || '.quicklink')
