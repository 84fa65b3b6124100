// Who looks after what `make up` started. The program is keeper-run.ts; here is what others ask of it.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Daemon, type Stopped, daemon, launch } from './daemon.ts'
import { type Places, projectDir, readJson, rotate, writeJson } from './paths.ts'
import { isOurs, programName } from './process.ts'

const program = join(projectDir, 'embedded', 'keeper-run.ts')

export interface Restarts {
  readonly count: number
  readonly lastAt: string
  /** Why it could not be started the last time. */
  readonly problem?: string
}

export interface Keeping {
  readonly pid: number
  /** Of what has died since it began, by name. */
  readonly restarts: Readonly<Record<string, Restarts>>
}

export const keeping = ({ keeperFile }: Places): Keeping | undefined =>
  readJson<Keeping>(keeperFile) as Keeping | undefined

export const keeperDaemon = (places: Places): Daemon =>
  daemon({ pid: () => keeping(places)?.pid, word: program, signals: [['SIGTERM', 5000]] })

export const stopKeeper = (places: Places): Promise<Stopped> => keeperDaemon(places).stop()

/** With the server's environment, because it starts the server. */
export async function startKeeper(places: Places, env: NodeJS.ProcessEnv): Promise<void> {
  if (keeperDaemon(places).pid() !== undefined) return
  rotate(places.keeperLogFile)
  const args = ['--import', join(projectDir, 'server', 'node-version.js'), program]
  const logFile = places.keeperLogFile
  await launch({
    ...{ name: 'The keeper', file: process.execPath, args, cwd: projectDir, env, logFile, detached: true },
    ready: (pid) => keeping(places)?.pid === pid,
    deadlineMs: 20_000,
  })
}

/** Whoever breaks something on purpose, a load test for example, mends it, too: the keeper looks away as long as they live. */
export function handsOff({ handsOffFile }: Places): () => void {
  writeJson(handsOffFile, { pid: process.pid, word: programName })
  return () => rmSync(handsOffFile, { force: true })
}

export function isHandsOff({ handsOffFile }: Places): boolean {
  const { pid, word } = readJson<{ pid: number; word: string }>(handsOffFile) ?? {}
  return word !== undefined && isOurs(pid, word)
}
