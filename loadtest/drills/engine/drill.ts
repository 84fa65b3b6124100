// What a drill is: a hypothesis with numbers; how it is run, and what is known of it afterwards.
import type { Bounds } from '../../report/report.ts'
import { until } from '../../../embedded/wait.ts'
import { noClock } from '../../faults/clock.ts'
import { noNames } from '../../faults/names.ts'
import { noSmallDisk } from '../../faults/small-disk.ts'
import type { Appliance, Settings } from './appliance.ts'
import type { Load, LoadGroup } from './load.ts'
import type { Observed } from './observed.ts'
import type { Target } from './target.ts'
import type { Watch } from './watch.ts'

/** Where a drill acts. */
export interface DrillContext {
  readonly appliance: Appliance
  readonly load: Load
  readonly watch: Watch
  /** Milliseconds that an open breaker leaves Redis alone in this run. */
  readonly breakerOpenMs: number
  /** A figure of the drill's own, for a promise to look at. */
  note(name: string, value: number): void
  /** A moment worth a line in the report. */
  mark(what: string): void
}

/** Taken from somewhere else than whoever did it. */
export interface Proof {
  readonly what: string
  readonly check: (context: DrillContext) => Promise<boolean> | boolean
}

export interface Promised extends Bounds {
  readonly what: string
  readonly figure: (observed: Observed) => number
  /** A latency: not held against QuickLink while the machine was too busy to send in time. */
  readonly latency?: boolean
  /** How many were answered at all, which a machine with other work may be too busy for. */
  readonly answers?: boolean
  /** Something must have happened, or nothing is proved: a smaller load or a shorter fault has to show less of it. */
  readonly evidence?: boolean
}

export interface DrillGroup extends LoadGroup {
  /** Answered besides 302 from the fault until recovery. */
  readonly may?: readonly number[]
  /** Not put into Redis before the drill. */
  readonly cold?: boolean
}

export interface Drill {
  readonly name: string
  readonly claim: string
  readonly settings?: Omit<Settings, 'sources'>
  /** A process that counts is killed, so its own account of clicks says nothing: the drill looks into Postgres instead. */
  readonly countsAnew?: boolean
  /** It is about what is counted, and not about how fast: it is run on a machine that has other work, too. Late answers are then a doubt. */
  readonly isOfCounts?: boolean
  /** It needs the fault proxy between QuickLink and its dependencies. */
  readonly needsProxies?: boolean
  /** It starts the server again itself, so it can only be its own. */
  readonly startsServer?: boolean
  /** Why it cannot be run on containers, in a clause. */
  readonly notInDocker?: string
  readonly load: {
    readonly rate: number
    readonly groups: readonly DrillGroup[]
    /** It is about this very rate: RATE does not change it. */
    readonly fixed?: boolean
  }
  /** Before the baseline: what the fault will need. */
  readonly prepare?: (context: DrillContext) => Promise<void>
  readonly fault: {
    readonly what: string
    readonly inject: (context: DrillContext) => Promise<void>
    readonly landed: Proof
    readonly seconds: number
    /** Its times are what it is about: the short form takes as long, and FAULT_SECONDS does not change it. */
    readonly fixed?: boolean
  }
  /** What happens while the fault lasts. */
  readonly meanwhile?: (context: DrillContext) => Promise<void>
  readonly during: readonly Promised[]
  readonly heal: {
    readonly what: string
    readonly undo: (context: DrillContext) => Promise<void>
    readonly healed: Proof
  }
  /** After this the steady state must be back. Breakers closed and Redis trusted are always asked for. */
  readonly recovered?: Proof
  readonly after: readonly Promised[]
  /** When nobody asks any more, and every click has had its time to arrive. */
  readonly atEnd?: (context: DrillContext) => Promise<void>
  /** Those of prometheus/alerts.yml that must ring while it lasts. */
  readonly alerts: readonly string[]
  /** Those that may: its consequences, if it lasts long enough for them. */
  readonly mayRing?: readonly string[]
}

/** `target`: a QuickLink that is not the drill's own. */
export type Mode = 'embedded' | 'docker' | 'target'

export interface Options {
  readonly short: boolean
  /** On a machine that has other work, too: the verdict is then INCONCLUSIVE at best. */
  readonly anyhow?: boolean
  readonly sources: string
  readonly mode: Mode
  /** In mode `target`. */
  readonly target?: Target | undefined
  /** Of the fault, instead of the drill's own. */
  readonly faultSeconds?: number | undefined
  /** Requests a second, instead of the drill's own. */
  readonly rate?: number | undefined
  /** On top of the drill's own: a promise broken on purpose. */
  readonly env?: Readonly<Record<string, string>>
  readonly redis?: readonly string[]
  readonly say: (line: string) => void
}

export interface Mark {
  readonly atMs: number
  readonly what: string
}

type Times = Pick<Options, 'short' | 'faultSeconds'>

const halved = (seconds: number): number => Math.max(4, seconds / 2)

/** Of the fault. */
export const secondsOf = ({ fault }: Drill, { short, faultSeconds }: Times): number =>
  fault.fixed ? fault.seconds : (faultSeconds ?? (short ? halved(fault.seconds) : fault.seconds))

export const rateOf = ({ load }: Drill, { rate }: Pick<Options, 'rate'>): number =>
  load.fixed ? load.rate : (rate ?? load.rate)

/** How much of the evidence that a drill asks for can be expected of this load and this time. The short form shows enough. */
export const evidenceShare = (drill: Drill, options: Pick<Options, 'rate'> & Times): number =>
  Math.min(1, rateOf(drill, options) / drill.load.rate) *
  Math.min(1, secondsOf(drill, options) / Math.min(drill.fault.seconds, halved(drill.fault.seconds)) || 1)

const watchedS = { usual: 6, short: 4 }

/** Seconds of the baseline, and of the time after. */
export const watchedFor = ({ short }: Pick<Options, 'short'>): number => (short ? watchedS.short : watchedS.usual)

export const breakerOpen = { usualMs: 30_000, shortMs: 3000 }

/** What the short form makes shorter than it is in earnest. */
export function compressedBy(drill: Drill, options: Options): string[] {
  if (!options.short) return []
  const [usual, now] = [secondsOf(drill, { short: false }), secondsOf(drill, options)]
  const breaker = `an open breaker is tried again after ${breakerOpen.shortMs / 1000} s instead of ${breakerOpen.usualMs / 1000} s, so it is steady up to ${(breakerOpen.usualMs - breakerOpen.shortMs) / 1000} s sooner than in earnest (BREAKER_OPEN_MS)`
  return [
    ...(now < usual ? [`the fault lasts ${now} s instead of ${usual} s`] : []),
    ...(options.mode === 'target' ? [] : [breaker]),
    `baseline and aftermath are watched for ${watchedS.short} s each instead of ${watchedS.usual} s`,
  ]
}

/** Why it cannot be run so; undefined: it can. */
export function obstacle(
  drill: Drill,
  { mode, rate, faultSeconds }: Pick<Options, 'mode' | 'rate' | 'faultSeconds'>,
): string | undefined {
  const { name, load, fault, notInDocker } = drill
  if (rate !== undefined && load.fixed)
    return `${name} is about its own rate, ${load.rate} requests/s and more: RATE is not for it.`
  if (faultSeconds !== undefined && fault.fixed)
    return `${name} takes the time that it is about: FAULT_SECONDS is not for it.`
  if (mode === 'docker' && notInDocker !== undefined)
    return `${name} cannot run in Docker, because ${notInDocker}: MODE=embedded runs it.`
  const why = lackOf(drill)
  return why === undefined ? undefined : `${name} cannot run here: ${why}.`
}

/** What this machine would need for it, and has not. */
function lackOf({ settings = {} }: Drill): string | undefined {
  const { smallDisk, names, clock } = settings
  return (smallDisk && noSmallDisk()) || (names && noNames()) || (clock && noClock()) || undefined
}

/** Ends a drill early, without a verdict about QuickLink. */
export class Doubt extends Error {}

/** In time. A look that fails is one that does not prove it. */
export const proven = (check: () => Promise<boolean> | boolean, deadlineMs: number): Promise<boolean> =>
  until(check, deadlineMs, 20)
