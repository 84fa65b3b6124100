// How a drill is to be run, and what is known of it afterwards.
import type { Check } from '../../report/report.ts'
import type { Ringing } from './alerts.ts'
import type { Drill } from './drill.ts'
import type { Seen } from './observed.ts'

/** `target`: a QuickLink that is not the drill's own. */
export type Mode = 'embedded' | 'docker' | 'target'

export interface Options {
  readonly short: boolean
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

export interface Lived {
  /** Of the report: that of the drill, and the mode where it is not the usual one. */
  readonly name: string
  readonly drill: Drill
  readonly beganAt: Date
  readonly checks: readonly Check[]
  /** Why nothing can be concluded. */
  readonly doubts: readonly string[]
  readonly marks: readonly Mark[]
  /** undefined: it ended before the fault was healed. */
  readonly seen: Seen | undefined
  readonly settings: Readonly<Record<string, string>>
  /** What the QuickLink was made of. */
  readonly mode: string
  /** What rang; undefined: nobody looked. */
  readonly rung: readonly Ringing[] | undefined
  /** What the server said of itself at the end. */
  readonly log: string
}

/** Of the fault. */
export const secondsOf = ({ fault }: Drill, { short }: Pick<Options, 'short'>): number =>
  short && !fault.fixed ? Math.max(4, fault.seconds / 2) : fault.seconds
