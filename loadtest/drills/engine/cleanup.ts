// What a drill has started, written down as it starts, so that anybody can undo it: the drill at its end, Ctrl-C, and
// the dead man's switch when the drill itself was killed. Undoing is harmless when it was done before.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Places, placesIn, readJson, writeJson } from '../../../embedded/paths.ts'
import { postgresDaemon } from '../../../embedded/postgres.ts'
import { family, signalAll } from '../../../embedded/daemon.ts'
import { isOurs } from '../../../embedded/process.ts'
import { until } from '../../../embedded/wait.ts'
import { redisDaemon } from '../../../embedded/redis.ts'
import { removeLabelled, revive } from '../../faults/containers.ts'
import { healProxies, type Control } from '../../faults/proxies.ts'
import { embeddedServices } from '../../faults/services.ts'
import { unmountSmallDisk } from '../../faults/small-disk.ts'
import { removeLinks, removeLinksAt } from './links.ts'

interface Process {
  readonly pid: number
  /** Of its command line: what tells it from a stranger that got its pid. */
  readonly word: string
}

/** Containers, networks and volumes that have it. */
interface Labelled {
  readonly label: string
}

/** What a fault was done to and will be there afterwards: proxies that shall pass, containers that shall run. */
interface Victims {
  readonly control?: Control
  readonly containers?: readonly string[]
}

/** The Postgres and the Redis of a `make up`, which go on. */
interface Staging {
  readonly dataDir: string
}

/** In a database that stays: of a container, or by its URL. */
type Links = ({ readonly linksIn: string } | { readonly linksAt: string }) & { readonly prefixes: readonly string[] }

/** A disk that was mounted. */
interface Disk {
  readonly disk: string
}

type Started = Process | Labelled | Victims | Staging | Links | Disk

export interface Cleanup {
  readonly dir: string
  readonly places: Places
  add(started: Started): void
}

const fileIn = (dir: string): string => join(dir, 'started.json')
export const placesOf = (dir: string): Places => placesIn(join(dir, 'data'))
export const controlIn = (dir: string): string => join(dir, 'proxies.sock')

const startedIn = (dir: string): Started[] => (readJson<Started[]>(fileIn(dir)) ?? []) as Started[]

export function openCleanup(dir: string): Cleanup {
  const all: Started[] = []
  return {
    dir,
    places: placesOf(dir),
    add(started) {
      all.push(started)
      writeJson(fileIn(dir), all)
    },
  }
}

/** The fault is gone: proxies pass, and what was stopped or killed runs again. */
export async function heal(dir: string): Promise<void> {
  const started = startedIn(dir)
  const controls = started.flatMap((each) => ('control' in each ? (each.control ?? []) : []))
  if (existsSync(controlIn(dir))) controls.push(controlIn(dir))
  const { redis, postgres } = embeddedServices(placesOf(dir))
  await Promise.all([
    ...controls.map((control) => healProxies(control).catch(() => undefined)),
    ...started.flatMap((each) => ('containers' in each ? (each.containers ?? []) : [])).map(revive),
    ...[redis, postgres].map((service) => service.resume()),
    ...started.flatMap((each) => ('dataDir' in each ? reviveIn(each.dataDir) : [])),
  ])
}

/** Of a QuickLink that stays. Who runs goes on. */
function reviveIn(dataDir: string): Promise<void>[] {
  const { redis, postgres } = embeddedServices(placesIn(dataDir))
  return [redis, postgres].map(async (service) => {
    await service.resume()
    if (!(await service.answers())) await service.start()
  })
}

/** Everything ends at once, and its folder goes: nobody will read this data again. */
export async function takeDown(dir: string): Promise<void> {
  const started = startedIn(dir)
  const places = placesOf(dir)
  const doomed = [
    ...started.flatMap((each) => ('pid' in each && isOurs(each.pid, each.word) ? each.pid : [])),
    ...[redisDaemon(places), postgresDaemon(places)].flatMap((daemon) => daemon.pid() ?? []),
  ]
  const all = doomed.flatMap(family)
  signalAll(all, 'SIGKILL')
  await until(() => !all.some((pid) => isOurs(pid, '/')), 5000, 20)
  for (const each of started) if ('disk' in each) unmountSmallDisk(each.disk)
  for (const each of started) {
    if ('linksIn' in each) await removeLinks(each.linksIn, each.prefixes)
    if ('linksAt' in each) await removeLinksAt(each.linksAt, each.prefixes)
  }
  const labels = started.flatMap((each) => ('label' in each ? each.label : []))
  if (labels.length > 0) await removeLabelled(labels)
  const home = readJson<{ home: string }>(places.postgresFile)?.home
  for (const each of [home, dir]) if (each !== undefined) remove(each)
}

/** Processes of Postgres may still be writing while they end. */
const remove = (dir: string): void => rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
