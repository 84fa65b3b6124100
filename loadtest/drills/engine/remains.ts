// What a drill has started, written down as it starts, so that anybody can undo it: the drill at its end, Ctrl-C, and
// the dead man's switch when the drill itself was killed. Undoing is harmless when it was done before.
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Places, placesIn, readJson, writeJson } from '../../../embedded/paths.ts'
import { family, isOurs, signalAll, until } from '../../../embedded/process.ts'
import { healProxies } from '../../faults/proxies.ts'
import { embeddedServices, postgresPid, redisPid } from '../../faults/services.ts'

interface Started {
  readonly pid: number
  /** Of its command line: what tells it from a stranger that got its pid. */
  readonly word: string
}

export interface Remains {
  readonly dir: string
  readonly places: Places
  add(started: Started): void
}

const fileIn = (dir: string): string => join(dir, 'started.json')
export const placesOf = (dir: string): Places => placesIn(join(dir, 'data'))
export const controlIn = (dir: string): string => join(dir, 'proxies.sock')

export function openRemains(dir: string): Remains {
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
  if (existsSync(controlIn(dir))) await healProxies(controlIn(dir)).catch(() => undefined)
  const { redis, postgres } = embeddedServices(placesOf(dir))
  await Promise.all([redis, postgres].map((service) => service.resume()))
}

/** Everything ends at once, and its folder goes: nobody will read this data again. */
export async function takeDown(dir: string): Promise<void> {
  const started = (readJson<Started[]>(fileIn(dir)) ?? []) as Started[]
  const places = placesOf(dir)
  const doomed = [
    ...started.filter(({ pid, word }) => isOurs(pid, word)).map(({ pid }) => pid),
    ...[redisPid(places), postgresPid(places)].filter((pid) => pid !== undefined),
  ]
  const all = doomed.flatMap(family)
  signalAll(all, 'SIGKILL')
  await until(() => !all.some((pid) => isOurs(pid, '/')), 5000, 20)
  const home = readJson<{ home: string }>(places.postgresFile)?.home
  for (const each of [home, dir]) if (each !== undefined) remove(each)
}

/** Processes of Postgres may still be writing while they end. */
const remove = (dir: string): void => {
  rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}
