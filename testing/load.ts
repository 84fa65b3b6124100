// Checked requests at a rate that waits for no answer, for tests that break something meanwhile.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Agent, type IncomingMessage } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { send, type Answer } from './http.ts'

export interface LoadAnswer extends Answer {
  readonly path: string
  /** When it was asked for, since the load began. */
  readonly atMs: number
  /** The same on the clock of `performance.now()`, to compare with other moments of a test. */
  readonly startedMs: number
}

/**
 * Asks for the paths in turn, so many a second, whether earlier ones have been answered or not. Connections are kept, as
 * visitors keep them, so that the raw front door is what is asked; `agent: false` makes one for each request.
 */
export async function steadily(
  base: () => string,
  paths: readonly string[],
  perSecond: number | (() => number),
  /** As long as this takes, or so many requests. */
  until: Promise<unknown> | number,
  agent: Agent | false = new Agent({ keepAlive: true }),
  /** Called between requests, with the number of those sent. */
  during?: (sent: number) => void,
) {
  const answers: LoadAnswer[] = []
  const failures: string[] = []
  const under: Promise<void>[] = []
  const over = { yet: false }
  if (typeof until !== 'number') void until.finally(() => (over.yet = true))
  let viaHttp = 0
  const onHttp = (message: unknown): void => {
    const { socket, url = '' } = (message as { request: IncomingMessage }).request
    if (socket.localPort === Number(new URL(base()).port) && paths.includes(url)) viaHttp++
  }
  subscribe('http.server.request.start', onHttp)
  const beganMs = performance.now()
  let dueMs = beganMs
  for (let n = 0; typeof until === 'number' ? n < until : !over.yet; n++) {
    during?.(n)
    const aheadMs = dueMs - performance.now()
    if (aheadMs > 1) await pause(aheadMs)
    dueMs += 1000 / (typeof perSecond === 'number' ? perSecond : perSecond())
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
    /** Of a server in this process: the requests for these paths that node:http saw. The others never left the front door. */
    viaHttp,
    p: (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0,
  }
}

export type Flood = Awaited<ReturnType<typeof flood>>

export interface FloodOptions {
  readonly requests: number
  readonly perSecond: number
  readonly during?: (sent: number) => void
}

/** Many requests for one path over 64 kept connections. */
export async function flood(base: string, path: string, options: FloodOptions) {
  const { requests, perSecond, during } = options
  const agent = new Agent({ keepAlive: true, maxSockets: 64, scheduling: 'fifo' })
  const { answers, failures, p } = await steadily(() => base, [path], perSecond, requests, agent, during)
  /** How often each was answered. */
  const statuses: Record<number, number> = {}
  for (const { status } of answers) statuses[status] = (statuses[status] ?? 0) + 1
  // Without an answer: its process died.
  return { statuses, failures: failures.length, slowestMs: p(1) }
}
