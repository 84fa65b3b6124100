// Whom `make doctor` asks, and what a point of it answers.
import type { Alertmanager } from './test-alert.ts'

/** The ways to ask, which differ with the mode. Each may throw: then its point is not ok, and the error is the reason. */
export interface Patient {
  /** A page of the ops port. */
  ops(path: string): Promise<string>
  /** Asks for these codes, from the machine that QuickLink runs on: its own addresses are not held to a limit of 404s. */
  visit(codes: readonly string[]): Promise<void>
  /** One command, at this node of a cluster; at the one that has its key, where none is named. Undefined: there is no Redis. */
  readonly redis: ((command: readonly string[], node?: string) => Promise<string>) | undefined
  /** Of a Redis Cluster; empty: there is one Redis. */
  nodes(): Promise<string[]>
  /** One statement, asked of Postgres as its operator: the first value of its answer. */
  postgres(statement: string): Promise<string>
  /** What the server really runs with; `trustProxy` as it was written. */
  settings(): Promise<Readonly<Record<string, unknown>>>
  /** Of Prometheus' API; undefined: there is no Prometheus. */
  readonly prometheus: ((path: string) => Promise<string>) | undefined
  /** Undefined: it does not run. */
  readonly alertmanager: Alertmanager | undefined
  /** Where what must not be reached from outside can be reached; empty: nowhere. */
  exposed(): Promise<string[]>
  /** Where the public port can be reached from other machines; empty: nowhere. */
  open(): Promise<string[]>
  /** Files with secrets that others may read, and secrets where everybody can see them. */
  leaks(): Promise<string[]>
  /** What only this mode has. */
  readonly more: Points
}

interface Finding {
  readonly ok: boolean
  readonly text: string
}

/** Each by its name. */
type Answer = Finding | 'not here'
export type Points = Readonly<Record<string, () => Answer | Promise<Answer>>>

export const finding = (ok: boolean, text: string): Finding => ({ ok, text })

/** Well when nothing was found that should not be. */
export const nothingFound = (found: readonly string[], well: string, bad = ''): Finding =>
  finding(found.length === 0, found.length === 0 ? well : bad + found.join(', '))
