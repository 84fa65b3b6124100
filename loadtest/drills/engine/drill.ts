// What a drill is: a hypothesis with numbers; how it is run, and what is known of it afterwards.
import type { Bounds } from '../../report/report.ts'
import { until } from '../../../embedded/wait.ts'
import type { Appliance } from './appliance.ts'
import type { Load, LoadGroup } from './load.ts'
import type { Observed } from './observed.ts'
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
  readonly settings?: {
    readonly env?: Readonly<Record<string, string>>
    readonly redis?: readonly string[]
    readonly sentinels?: boolean
  }
  /** It needs the fault proxy between QuickLink and its dependencies. */
  readonly needsProxies?: boolean
  readonly load: { readonly rate: number; readonly groups: readonly DrillGroup[] }
  /** Before the baseline: what the fault will need. */
  readonly prepare?: (context: DrillContext) => Promise<void>
  readonly fault: {
    readonly what: string
    readonly inject: (context: DrillContext) => Promise<void>
    readonly landed: Proof
    readonly seconds: number
    /** Its times are what it is about: the short form takes as long. */
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
  /** A running compose project, in mode `target`. */
  readonly target?: string | undefined
  /** On top of the drill's own: a promise broken on purpose. */
  readonly env?: Readonly<Record<string, string>>
  readonly redis?: readonly string[]
  readonly say: (line: string) => void
}

export interface Mark {
  readonly atMs: number
  readonly what: string
}

/** Of the fault. */
export const secondsOf = ({ fault }: Drill, { short }: Pick<Options, 'short'>): number =>
  short && !fault.fixed ? Math.max(4, fault.seconds / 2) : fault.seconds

/** Ends a drill early, without a verdict about QuickLink. */
export class Doubt extends Error {}

/** In time. A look that fails is one that does not prove it. */
export const proven = (check: () => Promise<boolean> | boolean, deadlineMs: number): Promise<boolean> =>
  until(check, deadlineMs, 20)
