// The load of a drill, and the oracle that knows where it must lead.
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createOracle, type Oracle } from './oracle.ts'

export interface LoadGroup {
  readonly name: string
  /** Of its requests among all, in any unit. */
  readonly share: number
  /** Its codes are the prefix and a number below the count. */
  readonly prefix: string
  readonly count: number
  /** zipf: a few are popular. fresh: one after the other, so that no cache has seen it lately. */
  readonly pick: 'uniform' | 'zipf' | 'fresh'
  /** What visitors say of themselves: whoever asks for code n is number n of them, and begins anew after the last. */
  readonly visitors?: readonly Readonly<Record<string, string>>[]
}

export interface LoadOrder {
  readonly url: string
  /** Requests a second. */
  readonly rate: number
  readonly connections: number
  readonly timeoutMs: number
  readonly groups: readonly LoadGroup[]
}

export interface Answered {
  /** On the clock that all processes of the machine share. */
  readonly dueMs: number
  /** How much later than that it was sent: by the generator's own fault. */
  readonly lateMs: number
  readonly ms: number
  readonly group: string
  readonly code: string
  /** 0: no answer. */
  readonly status: number
  /** It led where the link was made to lead. */
  readonly usual: boolean
  readonly location?: string
  /** A 503 that does not say when to come back. */
  readonly bare?: boolean
}

export const clockMs = (): number => performance.timeOrigin + performance.now()

export interface Load extends Oracle {
  readonly answers: readonly Answered[]
  /** Another load from now on. */
  set(load: Pick<LoadOrder, 'rate' | 'groups'>): void
  /** That it ended before it was told to. */
  problem(): string | undefined
  stop(): Promise<void>
}

export function startLoad(order: LoadOrder): Load {
  const answers: Answered[] = []
  const child = fork(join(import.meta.dirname, 'load-run.ts'), [JSON.stringify(order)], {
    execArgv: ['--no-warnings'],
    env: { PATH: process.env['PATH'] },
  })
  let problem: string | undefined
  let stopping: Promise<void> | undefined
  const hasEnded = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      if (!stopping)
        problem = `The load ended by itself (${signal ?? `exit code ${code}`}): what it did not ask proves nothing.`
      resolve()
    })
  })
  // It may be gone just as it is told something: its end is heard of above.
  child.on('error', () => undefined)
  child.on('message', (message) => answers.push(...(message as { answers: Answered[] }).answers))
  const tell = (change: Partial<LoadOrder>): void => {
    if (child.connected) child.send(change)
  }
  const stop = async (): Promise<void> => {
    // What was sent a moment ago is still to be answered and told.
    tell({ rate: 0 })
    await pause(400)
    child.kill('SIGKILL')
    await hasEnded
  }
  return {
    ...createOracle(),
    answers,
    set: tell,
    problem: () => problem,
    stop: () => (stopping ??= stop()),
  }
}
