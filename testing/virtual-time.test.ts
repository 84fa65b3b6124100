import { readFile } from 'node:fs'
import { hrtime, uptime } from 'node:process'
import {
  setImmediate as immediateOfModule,
  setInterval as intervalOfModule,
  setTimeout as timerOfModule,
} from 'node:timers'
import * as promised from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { epochMs, VirtualTime } from './virtual-time.ts'

const keptTimeout = globalThis.setTimeout
const keptInterval = globalThis.setInterval
const keptImmediate = globalThis.setImmediate
const nothing = (): void => undefined

it('moves timers and clocks together, in order, and only when it is told to', async () => {
  const time = new VirtualTime(1)
  const seen: string[] = []
  const say = (what: string): void => void seen.push(`${what} ${performance.now()}`)
  await time.run(async () => {
    setTimeout(say, 20, 'timer')
    setTimeout(say, 10, 'earlier')
    clearTimeout(setTimeout(say, 5, 'stopped'))
    setImmediate(say, 'immediate')
    const ticks = setInterval(() => {
      say('tick')
      if (performance.now() === 16) clearInterval(ticks)
    }, 8)
    await time.runUntil(30)
    expect(Math.random()).toBe(new VirtualTime(1).random())
    expect([Date.now(), new Date().getTime()]).toEqual([epochMs + 30, epochMs + 30])
  })
  expect(seen).toEqual(['immediate 0', 'tick 8', 'earlier 10', 'tick 16', 'timer 20'])
  expect(Date.now()).not.toBe(epochMs + 30)
})

it('keeps its timers to itself: outside of a run they are the real ones', async () => {
  const time = new VirtualTime(1)
  const outside = new Promise<string>((resolve) => setTimeout(resolve, 1, 'came'))
  await time.run(() => time.runUntil(1000))
  expect(await outside).toBe('came')
})

it('stands still while a real question is asked, and goes on when it is answered', async () => {
  const time = new VirtualTime(1)
  const seen: string[] = []
  await time.run(async () => {
    setTimeout(() => void time.outside(() => promised.setTimeout(20, 'answer')).then((answer) => seen.push(answer)), 5)
    setTimeout(() => seen.push('next'), 6)
    await time.runUntil(10)
  })
  expect(seen).toEqual(['answer', 'next'])
})

it.each<[string, () => unknown]>([
  ['a timer of node:timers', () => timerOfModule(nothing, 1)],
  ['an interval of node:timers', () => clearInterval(intervalOfModule(nothing, 1))],
  ['an immediate of node:timers', () => immediateOfModule(nothing)],
  ['a pause of node:timers/promises', () => promised.setTimeout(1)],
  ['an immediate of node:timers/promises', () => promised.setImmediate()],
  ['an interval of node:timers/promises', () => promised.setInterval(1).next()],
  ['a scheduler', () => promised.scheduler.wait(1)],
  ['a promisified timer', () => promisify(setTimeout)(1)],
  ['a timer that was kept from before', () => keptTimeout(nothing, 1)],
  ['an unreferenced one', () => keptTimeout(nothing, 1).unref()],
  ['an interval that was kept from before', () => clearInterval(keptInterval(nothing, 1))],
  ['an immediate that was kept from before', () => keptImmediate(nothing)],
  ['a signal that times out', () => AbortSignal.timeout(1)],
  ['process.hrtime', () => process.hrtime()],
  ['process.hrtime.bigint', () => process.hrtime.bigint()],
  ['the same, imported', () => hrtime()],
  ['process.uptime', () => uptime()],
  ['Date as a function', () => Date()],
  ['a file', () => readFile(import.meta.filename, nothing)],
])('refuses %s, also where the error is caught', async (_, use) => {
  const time = new VirtualTime(1)
  const run = time.run(async () => {
    try {
      void use()
    } catch {
      // As a pass would.
    }
    await time.runUntil(100)
  })
  await expect(run).rejects.toThrow('in virtual time')
})
