// A steady trickle of checked requests, for tests that break something meanwhile.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Agent, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { send, type Answer } from './app.ts'

export interface LoadAnswer extends Answer {
  readonly path: string
  /** When it was asked for, since the load began. */
  readonly atMs: number
  /** The same on the clock of `performance.now()`, to compare with other moments of a test. */
  readonly startedMs: number
}

export interface LoadResult {
  readonly answers: readonly LoadAnswer[]
  readonly failures: readonly string[]
  /** Of a server in this process: the requests for these paths that node:http saw. The others never left the front door. */
  readonly viaHttp: number
  p(share: number): number
}

/**
 * Asks for the paths in turn, `perSecond` of them, whether earlier ones have been answered or not. Connections are kept, as
 * visitors keep them, so that the raw front door is what is asked; `agent: false` makes one for each request.
 */
export async function steadily(
  base: () => string,
  paths: readonly string[],
  perSecond: number,
  until: Promise<unknown>,
  agent: Agent | false = new Agent({ keepAlive: true }),
): Promise<LoadResult> {
  const answers: LoadAnswer[] = []
  const failures: string[] = []
  const under: Promise<void>[] = []
  const over = { yet: false }
  void until.finally(() => (over.yet = true))
  let viaHttp = 0
  const onHttp = (message: unknown): void => {
    const { socket, url = '' } = (message as { request: IncomingMessage }).request
    if (socket.localPort === Number(new URL(base()).port) && paths.includes(url)) viaHttp++
  }
  subscribe('http.server.request.start', onHttp)
  const beganMs = performance.now()
  for (let n = 0; !over.yet; n++) {
    const dueMs = beganMs + (n * 1000) / perSecond
    const aheadMs = dueMs - performance.now()
    if (aheadMs > 1) await pause(aheadMs)
    const path = paths[n % paths.length] ?? '/'
    const startedMs = performance.now()
    const atMs = startedMs - beganMs
    under.push(
      send(base(), 'GET', path, undefined, {}, agent).then(
        (answer) => void answers.push({ ...answer, path, atMs, startedMs }),
        (error: unknown) => void failures.push(`${path} at ${atMs.toFixed(0)} ms: ${String(error)}`),
      ),
    )
  }
  await Promise.all(under)
  unsubscribe('http.server.request.start', onHttp)
  if (agent) agent.destroy()
  const sorted = answers.map(({ ms }) => ms).sort((a, b) => a - b)
  return {
    answers,
    failures,
    viaHttp,
    p: (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0,
  }
}
