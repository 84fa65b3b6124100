// The workers: each is a slot that is always filled, with a patience that grows while its worker keeps dying.
import cluster, { type Worker } from 'node:cluster'
import { createInterface } from 'node:readline'
import type { ToPrimary, ToWorker } from './ipc.ts'
import type { Log } from '../telemetry/log.ts'

const firstDelayMs = 100
const maxDelayMs = 10_000
/** A worker that lived this long did not die of its start: the patience begins anew. */
const soundLifeMs = 30_000

export interface Slot {
  readonly number: number
  worker: Worker | undefined
  serving: boolean
  /** It has served or died at least once. */
  tried: boolean
  restarts: number
  delayMs: number
  forkedAtMs: number
  respawn: NodeJS.Timeout | undefined
}

export interface CrewOptions {
  readonly size: number
  /** The file that a worker runs. */
  readonly file: string
  readonly log: Log
  /** Takes what workers write, where they may not share our own output. */
  readonly relay: ((line: string) => void) | undefined
  onForked(worker: Worker): void
  onMessage(worker: Worker, message: ToPrimary): void
  onLeft(worker: Worker): void
}

export class Crew<Boot> {
  readonly slots: readonly Slot[]
  readonly #options: CrewOptions
  #stopping = false
  #onGone: (() => void) | undefined

  constructor(options: CrewOptions) {
    this.#options = options
    cluster.setupPrimary({ exec: options.file, silent: options.relay !== undefined })
    this.slots = Array.from({ length: options.size }, (_, number) => ({
      number,
      worker: undefined,
      serving: false,
      tried: false,
      restarts: 0,
      delayMs: firstDelayMs,
      forkedAtMs: 0,
      respawn: undefined,
    }))
    for (const slot of this.slots) this.#fill(slot)
  }

  send(worker: Worker, message: ToWorker<Boot>): void {
    // One that is on its way out need not hear it; its exit is handled when it comes.
    if (worker.isConnected()) worker.send(message, () => undefined)
  }

  sendAll(message: ToWorker<Boot>): void {
    for (const worker of this.#workers()) this.send(worker, message)
  }

  /** Asks all to stop, and kills those that have not after `patienceMs`. True: none had to be killed. */
  async stop(patienceMs: number): Promise<boolean> {
    this.#stopping = true
    for (const { respawn } of this.slots) clearTimeout(respawn)
    this.sendAll({ type: 'stop' })
    if (this.#workers().length === 0) return true
    return new Promise((resolve) => {
      let killed = false
      const timer = setTimeout(() => {
        killed = true
        for (const worker of this.#workers()) worker.process.kill('SIGKILL')
      }, patienceMs)
      this.#onGone = () => {
        if (this.#workers().length > 0) return
        clearTimeout(timer)
        resolve(!killed)
      }
    })
  }

  #workers(): Worker[] {
    return this.slots.flatMap(({ worker }) => worker ?? [])
  }

  #fill(slot: Slot): void {
    const worker = cluster.fork()
    Object.assign(slot, { worker, serving: false, forkedAtMs: performance.now(), respawn: undefined })
    if (this.#options.relay) passOn(worker, this.#options.relay)
    this.#options.onForked(worker)
    worker.on('message', (message: ToPrimary) => {
      if (message.type === 'serving') Object.assign(slot, { serving: true, tried: true })
      this.#options.onMessage(worker, message)
    })
    worker.on('error', (error) => {
      this.#options.log.warn({ err: error, worker: worker.process.pid }, 'a worker could not be spoken to')
    })
    // Not 'exit': its last lines come before this.
    worker.process.once('close', (code, signal) => {
      this.#left(slot, worker, { code, signal })
    })
  }

  #left(slot: Slot, worker: Worker, how: { code: number | null; signal: string | null }): void {
    Object.assign(slot, { worker: undefined, serving: false, tried: true })
    this.#options.onLeft(worker)
    this.#onGone?.()
    if (this.#stopping) return
    const livedMs = performance.now() - slot.forkedAtMs
    const delayMs = livedMs >= soundLifeMs ? firstDelayMs : slot.delayMs
    slot.delayMs = Math.min(maxDelayMs, delayMs * 2)
    slot.restarts++
    this.#options.log.warn(
      { worker: worker.process.pid, ...how, livedMs: Math.round(livedMs), delayMs },
      'a worker ended and will be replaced',
    )
    slot.respawn = setTimeout(() => {
      this.#fill(slot)
    }, delayMs)
  }
}

function passOn({ process: { stdout, stderr } }: Worker, relay: (line: string) => void): void {
  for (const output of [stdout, stderr]) {
    if (output) createInterface(output).on('line', (line) => relay(`${line}\n`))
  }
}
