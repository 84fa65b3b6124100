// What `make up` started without Docker, drilled as it is. Its keeper looks away meanwhile; what was killed is started again at the
// end, also by the dead man's switch.
import { readFileSync } from 'node:fs'
import { handsOff } from '../../../embedded/keeper.ts'
import { Refusal, readText } from '../../../embedded/paths.ts'
import { askRedis } from '../../../embedded/redis-process.ts'
import { redisOperatorUrl } from '../../../embedded/redis.ts'
import { runningServer } from '../../../embedded/server.ts'
import { placesFrom } from '../../../embedded/up.ts'
import { ask } from '../../../embedded/ask.ts'
import { embeddedServices } from '../../faults/services.ts'
import { applianceAt, openSql, type Appliance } from './appliance.ts'
import type { Cleanup } from './cleanup.ts'
import type { Drill } from './drill.ts'

export async function openEmbeddedTarget(cleanup: Cleanup, drill: Drill): Promise<Appliance> {
  const places = placesFrom(process.env)
  const server = runningServer(places)
  if (!server)
    throw new Refusal('No QuickLink of `make up` runs here: `make up` first, or name its folder as DATA_DIR.')
  const [databaseUrl, redisUrl] = [readText(places.databaseUrlFile)?.trim(), redisOperatorUrl(places)]
  const ownerKey = readText(places.ownerKeyFile)?.trim()
  if (databaseUrl === undefined || redisUrl === undefined) throw new Refusal('A drill needs its Redis: it was started without one.') // prettier-ignore
  if (ownerKey === undefined) throw new Refusal('A drill needs the owner’s key, which was given to this QuickLink and is in no file.') // prettier-ignore
  const { workers } = JSON.parse((await ask(server.opsUrl, '/statusz')).text) as { workers: unknown[] }
  const handsOn = handsOff(places)
  cleanup.add({ dataDir: places.dataDir })
  cleanup.add({ linksAt: databaseUrl, prefixes: drill.load.groups.map(({ prefix }) => prefix) })
  const { port, password } = new URL(redisUrl)
  const ports = { redis: Number(port), postgres: Number(new URL(databaseUrl).port) }
  const access = {
    mode: 'what `make up` started here, with its own settings',
    url: server.localUrl.replace('localhost', '127.0.0.1'),
    opsUrl: server.opsUrl,
    workers: workers.length,
    services: embeddedServices(places, workers.length),
    proxies: { ports, set: () => Promise.reject(new Error('there is no fault proxy')) },
    ports,
    sql: openSql(databaseUrl),
    redis: (command: string) => askRedis(ports.redis, password, command),
    signalWorker(pid: number, signal: NodeJS.Signals) {
      process.kill(pid, signal)
      return Promise.resolve()
    },
    breakerOpenMs: Number(environmentOf(server.pid).get('BREAKER_OPEN_MS') || 30_000),
    close() {
      handsOn()
      return Promise.resolve()
    },
  }
  return applianceAt(access, ownerKey)
}

/** What it was started with. */
const environmentOf = (pid: number): ReadonlyMap<string, string> =>
  new Map(
    readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .map((line) => [line.replace(/=.*/s, ''), line.replace(/^[^=]*=/s, '')]),
  )
