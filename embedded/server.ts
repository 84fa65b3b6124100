// The QuickLink server as a background process.
import { join } from 'node:path'
import { type Places, Refusal, projectDir, readJson, rotate, writeJson } from './paths.ts'
import { type Daemon, type Stopped, daemon, launch } from './daemon.ts'
import { freePort } from './process.ts'

const mainFile = join(projectDir, 'server', 'main.ts')

export interface ServerUrls {
  readonly url: string
  readonly localUrl: string
  readonly opsUrl: string
}

interface RunningServer extends ServerUrls {
  readonly pid: number
}

export function runningServer(places: Places): RunningServer | undefined {
  return serverDaemon(places).pid() === undefined ? undefined : (readJson(places.serverFile) as RunningServer)
}

/** It stops itself within 10 s, with what is under way. */
const serverDaemon = ({ serverFile }: Places): Daemon =>
  daemon({ pid: () => readJson<RunningServer>(serverFile)?.pid, word: mainFile, signals: [['SIGTERM', 12_000]] })

export async function startServer(places: Places, env: NodeJS.ProcessEnv, urls: ServerUrls): Promise<ServerUrls> {
  rotate(places.logFile)
  const args = ['--disable-sigusr1', '--import', join(projectDir, 'server', 'node-version.js'), mainFile]
  // This very Node: its version has been checked.
  await launch({
    ...{ name: 'The server', file: process.execPath, args, cwd: projectDir, env, detached: true },
    logFile: places.logFile,
    begun: (pid) => writeJson(places.serverFile, { pid, ...urls } satisfies RunningServer),
    ready: () => isReady(urls),
    // Migrations, and indexes on a busy machine.
    deadlineMs: 180_000,
    everyMs: 100,
  })
  return urls
}

/**
 * For a service of QuickLink's own. A server that runs knows it by its port, and would not find it at another one; else it
 * is only where it was, if it can be.
 */
export async function servicePort(places: Places, name: string, before: number | undefined): Promise<number> {
  const port = await freePort(before)
  if (before === undefined || port === before || runningServer(places) === undefined) return port
  throw new Refusal(
    `Port ${before} of ${name} is taken by another program: end that one, or \`make down\` and \`make up\`, which takes another port.`,
  )
}

export const isReady = async (server: ServerUrls): Promise<boolean> => (await fetchOps(server, '/readyz'))?.ok ?? false

/** The text of an answer of the ops port; undefined when there is none. */
export async function fetchOps(server: ServerUrls, path: string): Promise<{ ok: boolean; text: string } | undefined> {
  try {
    const answer = await fetch(server.opsUrl + path, { signal: AbortSignal.timeout(2000) })
    return { ok: answer.ok, text: await answer.text() }
  } catch {
    return undefined
  }
}

export const stopServer = (places: Places): Promise<Stopped> => serverDaemon(places).stop()
