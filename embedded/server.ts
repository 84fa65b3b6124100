// The QuickLink server as a background process.
import { join } from 'node:path'
import { type Places, Refusal, lastLines, projectDir, readJson, rotate, shown, writeJson } from './paths.ts'
import { type Daemon, type Stopped, daemon, hasEnded, isReadyInTime, start } from './daemon.ts'

const mainFile = join(projectDir, 'server', 'main.ts')

export interface RunningServer {
  readonly pid: number
  readonly url: string
  readonly localUrl: string
  readonly opsUrl: string
}

export function runningServer(places: Places): RunningServer | undefined {
  return serverDaemon(places).pid() === undefined ? undefined : (readJson(places.serverFile) as RunningServer)
}

/** It stops itself within 10 s, with what is under way. */
const serverDaemon = ({ serverFile }: Places): Daemon =>
  daemon({ pid: () => readJson<RunningServer>(serverFile)?.pid, word: mainFile, signals: [['SIGTERM', 12_000]] })

export async function startServer(places: Places, env: NodeJS.ProcessEnv, urls: Omit<RunningServer, 'pid'>) {
  rotate(places.logFile)
  const args = ['--disable-sigusr1', '--import', join(projectDir, 'server', 'node-version.js'), mainFile]
  // This very Node: its version has been checked.
  const child = await start({
    file: process.execPath,
    args,
    cwd: projectDir,
    env,
    logFile: places.logFile,
    detached: true,
  })
  const server: RunningServer = { pid: child.pid, ...urls }
  writeJson(places.serverFile, server)
  if (await isReadyInTime(child, () => isReady(server), 60_000, 100)) return server
  const what = hasEnded(child)
    ? `ended (${child.signalCode ?? `exit code ${child.exitCode}`})`
    : 'was not ready after 60 s'
  // Not left half running: the next `make up` starts it anew.
  await stopServer(places)
  throw new Refusal(`The server ${what}. The end of ${shown(places.logFile)}:\n${lastLines(places.logFile, 20)}`)
}

export async function isReady(server: RunningServer): Promise<boolean> {
  return (await fetchOps(server, '/readyz'))?.ok ?? false
}

/** The text of an answer of the ops port; undefined when there is none. */
export async function fetchOps(
  server: RunningServer,
  path: string,
): Promise<{ ok: boolean; text: string } | undefined> {
  try {
    const answer = await fetch(server.opsUrl + path, { signal: AbortSignal.timeout(2000) })
    return { ok: answer.ok, text: await answer.text() }
  } catch {
    return undefined
  }
}

export const stopServer = (places: Places): Promise<Stopped> => serverDaemon(places).stop()
