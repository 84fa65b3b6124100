// Whether this machine had other work while something was measured on it, and whether it kept its speed.
import { readFileSync } from 'node:fs'
import { cpuSecondsWithEnded, ticksPerS } from './cpu.ts'
import { spreadOf, type Spread } from './stats.ts'
import { short } from '../report/text.ts'

interface Clock {
  readonly atS: number
  /** Of this process and of all that it has started, also of what has ended since. */
  readonly ownS: number
  /** Of all programs. */
  readonly busyS: number
  /** What the machine's host gave to others. */
  readonly stolenS: number
}

/** The first line of /proc/stat. What the kernel does for the network is nobody's there, and is left out. */
export function parseCpuLine(text: string): Pick<Clock, 'busyS' | 'stolenS'> {
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = text.split('\n', 1)[0]!.split(/ +/).slice(1).map(Number)
  return { busyS: (user + nice + system) / ticksPerS, stolenS: steal / ticksPerS }
}

function read(): Clock | undefined {
  if (process.platform !== 'linux') return undefined
  const line = parseCpuLine(readFileSync('/proc/stat', 'utf8'))
  return { atS: performance.now() / 1000, ownS: cpuSecondsWithEnded(process.pid), ...line }
}

/** Cores: less is what any system does by itself. */
const othersMayTake = 0.15
/** Cores. */
const hostMayTake = 0.05

export function doubtsBetween(from: Clock, to: Clock): string[] {
  const seconds = Math.max(0.001, to.atS - from.atS)
  const others = (to.busyS - from.busyS - (to.ownS - from.ownS)) / seconds
  const stolen = (to.stolenS - from.stolenS) / seconds
  return [
    ...(others > othersMayTake ? [`Other programs took ${short(others)} of a core meanwhile: end them, and run it again.`] : []),
    ...(stolen > hostMayTake ? [`The machine's host kept ${short(stolen)} of a core for others: run it again later, or on a machine of your own.`] : []),
  ]
} // prettier-ignore

/** Returns what has to be said of the time since. Nothing where there is no /proc. */
export function watchMachine(): () => string[] {
  const from = read()
  return () => {
    const to = read()
    return from === undefined || to === undefined ? [] : doubtsBetween(from, to)
  }
}

/** The same work costs the same on a machine that keeps its speed: less than this between the dearest and the cheapest round. */
const steady = 1.25

/** Of servers that do nothing but answer, each measured several times. */
export function doubtsOfSpeed(bare: readonly Spread[]): string[] {
  const usual = spreadOf(bare.map(({ min, max }) => max / min)).median
  if (!(usual > steady)) return []
  return [`The machine did not keep its speed: what a bare server needs for an answer changed ${short(usual)} times from one round to the next. Run it again when the machine is at rest, on mains power.`] // prettier-ignore
}
