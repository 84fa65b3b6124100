// The load of a drill, and the oracle: which destination is right for a code, now and a moment ago.
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export interface LoadGroup {
  readonly name: string
  /** Of its requests among all, in any unit. */
  readonly share: number
  /** Its codes are the prefix and a number below the count. */
  readonly prefix: string
  readonly count: number
  /** zipf: a few are popular. fresh: one after the other, so that no cache has seen it lately. */
  readonly pick: 'uniform' | 'zipf' | 'fresh'
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

/** Where a link leads, unless the drill changes it. */
export const standardDestination = (code: string): string => `https://example.org/a/page?of=${code}`

/** A destination, or that there is none. */
export type Outcome = string | 404

export interface Load {
  readonly answers: readonly Answered[]
  /** Another load from now on. */
  set(load: Pick<LoadOrder, 'rate' | 'groups'>): void
  /** From `atMs` on this is right for the code. Until a second later, what was right before is right too. */
  changed(code: string, atMs: number, to: Outcome): void
  /** It led where it should not, or nowhere although there is a link. No answer and 503 are failures, but never wrong. */
  wrong(answer: Answered): boolean
  stop(): Promise<void>
}

/** Within this, everybody knows of a change. */
const promiseMs = 1000

const outcome = ({ code, status, usual, location }: Answered): Outcome | undefined =>
  usual ? standardDestination(code) : (location ?? (status === 404 ? 404 : undefined))

export function startLoad(order: LoadOrder): Load {
  const answers: Answered[] = []
  const truths = new Map<string, { fromMs: number; to: Outcome }[]>()
  const truthsOf = (code: string) => truths.get(code) ?? [{ fromMs: -Infinity, to: standardDestination(code) }]
  const child = fork(join(import.meta.dirname, 'load-run.ts'), [JSON.stringify(order)], {
    execArgv: ['--no-warnings'],
    env: { PATH: process.env['PATH'] },
  })
  child.on('message', (message) => answers.push(...(message as { answers: Answered[] }).answers))
  return {
    answers,
    set(load) {
      child.send(load)
    },
    changed(code, fromMs, to) {
      truths.set(code, [...truthsOf(code), { fromMs, to }])
    },
    wrong(answer) {
      const said = outcome(answer)
      if (said === undefined) return false
      const all = truthsOf(answer.code)
      const wasRight = ({ fromMs, to }: { fromMs: number; to: Outcome }, n: number): boolean =>
        to === said &&
        fromMs <= answer.dueMs + answer.ms &&
        (all[n + 1]?.fromMs ?? Infinity) + promiseMs >= answer.dueMs
      return !all.some(wasRight)
    },
    async stop() {
      // What was sent a moment ago is still to be answered and told.
      await pause(300)
      if (child.exitCode === null) child.kill('SIGKILL')
    },
  }
}
