// What a drill is: a hypothesis with numbers. The engine (engine.ts) lives it, the judge (judge.ts) compares.
import type { Appliance } from './appliance.ts'
import type { Load, LoadGroup } from './load.ts'
import type { Seen } from './observed.ts'
import type { Watch } from './watch.ts'

/** Where a drill acts. */
export interface Stage {
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
  readonly check: (stage: Stage) => Promise<boolean> | boolean
}

export interface Promised {
  readonly what: string
  readonly figure: (seen: Seen) => number
  readonly unit?: string
  readonly atMost?: number
  readonly atLeast?: number
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
  readonly prepare?: (stage: Stage) => Promise<void>
  readonly fault: {
    readonly what: string
    readonly inject: (stage: Stage) => Promise<void>
    readonly landed: Proof
    readonly seconds: number
    /** Its times are what it is about: the short form takes as long. */
    readonly fixed?: boolean
  }
  /** What happens while the fault lasts. */
  readonly meanwhile?: (stage: Stage) => Promise<void>
  readonly during: readonly Promised[]
  readonly heal: { readonly what: string; readonly undo: (stage: Stage) => Promise<void>; readonly healed: Proof }
  /** After this the steady state must be back. Breakers closed and Redis trusted are always asked for. */
  readonly recovered?: Proof
  readonly after: readonly Promised[]
  /** Those of prometheus/alerts.yml that must ring while it lasts. */
  readonly alerts: readonly string[]
  /** Those that may: its consequences, if it lasts long enough for them. */
  readonly mayRing?: readonly string[]
}
