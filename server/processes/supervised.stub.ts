// A primary and its workers around a stub for the app (supervisor.stub.ts), as processes.
import { expect, onTestFinished, vi } from 'vitest'
import { send } from '../../testing/http.ts'
import { spawnServer, type ServerProcess } from '../../testing/server-process.ts'

// A start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 90_000 })

const program = new URL('supervisor.stub.ts', import.meta.url).pathname
export const until = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 30_000, interval: 25 })

export async function start(
  env: Record<string, string> = {},
  stdout: 'read' | 'unread' | 'file' | number = 'file',
): Promise<ServerProcess> {
  const all = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', WORKERS: '2', ...env }
  const server = await spawnServer(all, { program, stdout })
  onTestFinished(() => server.kill())
  return server
}

export async function startReady(...how: Parameters<typeof start>): Promise<ServerProcess> {
  const server = await start(...how)
  await until(async () => expect((await server.ready()).status).toBe(200))
  return server
}

export const get = async ({ url }: ServerProcess, path = '/'): Promise<string> => (await send(url, 'GET', path)).text
export const alive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
