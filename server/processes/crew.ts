// The workers: each is a slot that is always filled, with a patience that grows while its worker keeps dying.
import cluster, { type Worker } from 'node:cluster'
import { createInterface } from 'node:readline'
import type { Socket } from 'node:net'
import { limits } from '../limits.ts'
import type { ToPrimary, ToWorker } from './ipc.ts'
import { StandIn, type ListenHandle } from './stand-in.ts'
import type { Log } from '../telemetry/log.ts'

const firstDelayMs = 100
const maxDelayMs = 10_000
/** A worker that lived this long did not die of its start: the patience begins anew. */
const soundLifeMs = 30_000

export interface Slot {
  readonly number: number
  worker: Worker | undefined
  serving: boolean
  /** It is on its way out: it accepts nothing any more. */
  leaving: boolean
  /** It has said something since it was started. */
  heard: boolean
  /**
   * Looks since it last said something. Not a time: while this process itself does not run, nobody can be heard, and that is
   * nobody's fault.
   */
  silentLooks: number
  standIn: StandIn | undefined
  /** Connections of others that wait for it. Node closes none but the first of them when it dies. */
  readonly given: Set<Socket>
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

const isSilent = ({ silentLooks }: Slot, ms: number): boolean => silentLooks * limits.aliveEveryMs >= ms

/** It serves, and has said something lately. */
export const answers = (slot: Slot): boolean => slot.serving && !slot.leaving && !isSilent(slot, limits.unheardMs)

export class Crew {
  readonly slots: readonly Slot[]
  readonly #options: CrewOptions
  readonly #look: NodeJS.Timeout
  #stopping = false
  #turn = 0
  #onGone: (() => void) | undefined

  constructor(options: CrewOptions) {
    this.#options = options
    cluster.setupPrimary({ exec: options.file, silent: options.relay !== undefined })
    this.slots = Array.from({ length: options.size }, (_, number) => ({
      number,
      worker: undefined,
      serving: false,
      leaving: false,
      heard: false,
      silentLooks: 0,
      standIn: undefined,
      given: new Set<Socket>(),
      tried: false,
      restarts: 0,
      delayMs: firstDelayMs,
      forkedAtMs: 0,
      respawn: undefined,
    }))
    for (const slot of this.slots) this.#fill(slot)
    this.#look = setInterval(() => {
      for (const slot of this.slots) this.#lookAt(slot)
    }, limits.aliveEveryMs)
  }

  send(worker: Worker, message: ToWorker): void {
    // One that is on its way out need not hear it; its exit is handled when it comes.
    if (worker.isConnected()) worker.send(message, () => undefined)
  }

  sendAll(message: ToWorker): void {
    for (const worker of this.#workers()) this.send(worker, message)
  }

  /** Asks all to stop, and kills those that have not after `patienceMs`. True: none had to be killed. */
  async stop(patienceMs: number): Promise<boolean> {
    this.#stopping = true
    clearInterval(this.#look)
    for (const slot of this.slots) {
      clearTimeout(slot.respawn)
      this.#dismiss(slot)
    }
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
    const fresh = { serving: false, leaving: false, heard: false, silentLooks: 0 }
    Object.assign(slot, { worker, ...fresh, forkedAtMs: performance.now(), respawn: undefined })
    if (this.#options.relay) passOn(worker, this.#options.relay)
    this.#options.onForked(worker)
    worker.on('message', (message: ToPrimary, handle?: ListenHandle) => {
      this.#heard(slot, worker)
      if (message.type === 'serving') Object.assign(slot, { serving: true, tried: true })
      if (message.type === 'listener' && handle) this.#hold(slot, worker, handle)
      if (message.type === 'leaving') slot.leaving = true
      this.#options.onMessage(worker, message)
    })
    worker.on('error', (error) => {
      this.#options.log.warn({ err: error, worker: worker.process.pid }, 'a worker could not be spoken to')
    })
    // Not 'exit': its last lines come before this.
    worker.process.once('close', (code, signal) => this.#left(slot, worker, { code, signal }))
  }

  #heard(slot: Slot, worker: Worker): void {
    Object.assign(slot, { heard: true, silentLooks: 0 })
    if (!slot.standIn?.accepts || slot.leaving) return
    this.#dismiss(slot)
    this.send(worker, { type: 'share' })
  }

  #hold(slot: Slot, worker: Worker, handle: ListenHandle): void {
    if (this.#stopping || slot.worker !== worker) {
      handle.close()
      return
    }
    this.#dismiss(slot)
    slot.standIn = new StandIn(handle, (socket) => this.#give(socket))
  }

  #dismiss(slot: Slot): void {
    slot.standIn?.close()
    slot.standIn = undefined
  }

  #lookAt(slot: Slot): void {
    const { worker } = slot
    if (!worker) return
    slot.silentLooks++
    if (slot.leaving && this.#able().length === 0) this.#dismiss(slot)
    else if (slot.leaving || isSilent(slot, limits.silentMs)) this.#standInFor(slot)
    if (!isSilent(slot, slot.heard ? limits.hungMs : limits.loadMs)) return
    this.#options.log.error({ worker: worker.process.pid }, 'a worker is hung: it is killed')
    slot.silentLooks = 0
    slot.leaving = true
    worker.process.kill('SIGKILL')
  }

  /** The others have to be able to: what waits at the listener may also wait for its owner to come back. */
  #standInFor({ standIn }: Slot): void {
    if (this.#able().length > 0) standIn?.accept()
  }

  /** Those that would answer now. */
  #able(): Slot[] {
    return this.slots.filter((slot) => slot.serving && !slot.leaving && !isSilent(slot, limits.silentMs))
  }

  /** In turn. Where none is able now, it waits for one that may be again. */
  #give(socket: Socket): void {
    const able = this.#able()
    const from = able.length > 0 ? able : this.slots.filter(({ serving, leaving }) => serving && !leaving)
    const { worker, given } = from[this.#turn++ % from.length] ?? {}
    if (!worker?.isConnected()) {
      socket.destroy()
      return
    }
    given?.add(socket)
    worker.send({ type: 'connection' } satisfies ToWorker, socket, (error) => {
      given?.delete(socket)
      if (error) socket.destroy()
    })
  }

  #left(slot: Slot, worker: Worker, how: { code: number | null; signal: string | null }): void {
    const { standIn, given } = slot
    for (const socket of given) socket.destroy()
    given.clear()
    Object.assign(slot, { worker: undefined, serving: false, tried: true, standIn: undefined })
    if (this.#able().length > 0) standIn?.clear()
    else standIn?.close()
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
    slot.respawn = setTimeout(() => this.#fill(slot), delayMs)
  }
}

function passOn({ process: { stdout, stderr } }: Worker, relay: (line: string) => void): void {
  for (const output of [stdout, stderr]) {
    if (output) createInterface(output).on('line', (line) => relay(`${line}\n`))
  }
}
