// Ctrl-C, a SIGTERM, or a reader who has left (`make load | head`): what is under way is ended in order, the links are removed,
// and nothing is begun any more. The second time, at once.
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '../../embedded/paths.ts'

export class Interrupted extends Refusal {
  constructor() {
    super('Stopped before its end: it proves nothing.')
  }
}

/** As the shell says it of a program that a Ctrl-C ended. */
export const interruptedCode = 130

/** For what is under way: k6 that ends, a Redis that is started again. */
const patienceMs = 20_000

let happened = false
const told: (() => void)[] = []

function interrupt(): void {
  if (happened) process.exit(interruptedCode)
  happened = true
  for (const tell of told) tell()
}

/** By the program, once. */
export function heedInterrupts(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
  // Each line that finds no reader is an error of its own.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => happened || interrupt())
}

/** Before anything is begun. */
export function refuseIfInterrupted(): void {
  if (happened) throw new Interrupted()
}

export const onInterrupt = (tell: () => void): void => void told.push(tell)

/** Rejects once the work has ended, or has had its time, after an interruption. */
export async function unlessInterrupted<T>(work: Promise<T>): Promise<T> {
  const interrupted = new Promise<void>((resolve) => (happened ? resolve() : onInterrupt(resolve)))
  const ended = work.then(
    () => undefined,
    () => undefined,
  )
  const stopped = interrupted.then(async () => {
    await Promise.race([ended, pause(patienceMs, undefined, { ref: false })])
    throw new Interrupted()
  })
  const result = await Promise.race([work, stopped])
  refuseIfInterrupted()
  return result
}
