// The shape of a result file. `make bench-compare` reads files of older commits: add fields, do not rename them.
import type { Spread } from '../measure/stats.ts'

/** Of all repetitions. */
export interface SubjectResult {
  readonly what: string
  readonly cpuUs: Spread
  readonly rps: Spread
  readonly p50Ms: Spread
  readonly p99Ms: Spread
  readonly p999Ms: Spread
  readonly requests: number
  readonly failed: number
}

/** What one shape of request costs, beside the two floors. */
export interface VisitorRow {
  readonly what: string
  readonly cpuUs: number
  /** QuickLink ÷ bare `node:http`. */
  readonly toHttp: number
  readonly wanted: number | null
  /** The bare socket ÷ bare `node:http`, and QuickLink ÷ the bare socket; null behind a proxy. */
  readonly netToHttp: number | null
  readonly toNet: number | null
  /** Of QuickLink's answers. */
  readonly failed: number
}

export interface OpenLoopRow {
  readonly door: string
  /** Of the capacity that the closed loop measured. */
  readonly share: number
  readonly rate: number
  readonly achieved: number
  /** Medians of the repetitions. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  /** Of all slices of all repetitions, the median of their p99: a stall of the machine is in one slice only. */
  readonly usualP99Ms: number
  /** The bare socket at the same rate, slice by slice in turn. */
  readonly floorP50Ms: number
  readonly floorP99Ms: number
  readonly floorUsualP99Ms: number
  /** p99 ÷ that of the bare socket in the slice next to it, the median of all slices. */
  readonly p99ToFloor: number
  /** p99 of the best and of the worst repetition. */
  readonly p99BetweenMs: readonly [number, number]
  readonly maxMs: number
  readonly failed: number
  /** From 0 to 1. Close to 1, the latencies are those of the generator. */
  readonly generatorBusy: number
}

export interface MemoryResult {
  readonly links: number
  readonly redisBytesPerKey: number
  readonly postgresBytesPerRow: { readonly table: number; readonly indexes: number; readonly outbox: number }
  readonly workerBytes: { readonly idle: number; readonly loaded: number }
  /** What a worker holds with so many links in tier 1, after a collection. */
  readonly tier1: readonly { readonly links: number; readonly heapBytes: number }[]
}

export interface Target {
  readonly what: string
  readonly wanted: string
  readonly measured: number
  readonly unit: string
  readonly met: boolean
}

/** A scrape should not stall a worker for longer. */
export const stallBoundMs = 5

interface OverRounds {
  /** The median of the rounds. */
  readonly usualMs: number
  readonly worstMs: number
  /** Rounds above the bound. */
  readonly over: number
}

/** The worst stall of any worker's event loop, round by round. */
export interface StallSummary {
  readonly all: OverRounds
  /** What the worker itself worked in one stall: the rest is waiting for a core. */
  readonly own: OverRounds
}

export interface Scrape {
  readonly workers: number
  readonly samples: number
  readonly rounds: number
  readonly scraped: StallSummary
  /** Rounds of the same length, between the others. */
  readonly quiet: StallSummary
}

export interface Result {
  readonly at: string
  readonly commit: string
  /** The working tree had changes that the commit does not have. */
  readonly dirty: boolean
  readonly mode: string
  readonly machine: Readonly<Record<string, string | number>>
  readonly config: Readonly<Record<string, string | number>>
  readonly subjects: Readonly<Record<string, SubjectResult>>
  readonly visitors: readonly VisitorRow[]
  /** Lookups per second of one hot link while Postgres is away. */
  readonly cutOffLookupsPerS: number
  readonly hotKeyReadsPerS: number
  readonly tier1Entries: { readonly held: number; readonly bound: number }
  readonly scrape: Scrape | null
  readonly targets: readonly Target[]
  readonly openLoop: readonly OpenLoopRow[]
  readonly memory: MemoryResult | null
} // prettier-ignore
