// Many requests for one path over many kept connections, at a rate that waits for no answer.
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

export interface Flood {
  /** How often each status was answered. */
  readonly statuses: Record<number, number>
  /** Requests without an answer: their process died. */
  readonly failures: number
  /** Longest wait for an answer. */
  readonly slowestMs: number
}

export interface FloodOptions {
  readonly requests: number
  readonly perSecond: number
  readonly connections?: number
  /** Called between requests, with the number of those sent. */
  readonly during?: (sent: number) => void
}

export async function flood(base: string, path: string, options: FloodOptions): Promise<Flood> {
  const { requests, perSecond, connections = 64 } = options
  const agent = new Agent({ keepAlive: true, maxSockets: connections, scheduling: 'fifo' })
  const { hostname, port } = new URL(base)
  const statuses: Record<number, number> = {}
  let failures = 0
  let slowestMs = 0
  const ask = (): Promise<void> =>
    new Promise((resolve) => {
      const beganMs = performance.now()
      const asked = request({ hostname, port, path, agent }, (response) => {
        const { statusCode = 0 } = response
        statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
        slowestMs = Math.max(slowestMs, performance.now() - beganMs)
        response.resume().on('close', resolve)
      })
      asked.on('error', () => {
        failures++
        resolve()
      })
      asked.end()
    })
  const under: Promise<void>[] = []
  const beganMs = performance.now()
  for (let sent = 0; sent < requests; sent++) {
    options.during?.(sent)
    under.push(ask())
    const aheadMs = beganMs + (sent * 1000) / perSecond - performance.now()
    if (aheadMs > 2) await pause(aheadMs)
  }
  await Promise.all(under)
  agent.destroy()
  return { statuses, failures, slowestMs }
}
