// The links that drills ask for.
import type { DrillGroup } from './engine/drill.ts'

/** A few popular ones: most requests find them in tier 1. */
export const hot: DrillGroup = { name: 'hot', share: 5, prefix: 'hot-', count: 100, pick: 'zipf' }

/** In Redis, and seldom in tier 1. */
export const warm: DrillGroup = { name: 'warm', share: 4, prefix: 'warm-', count: 1500, pick: 'uniform' }

/** In Postgres alone: each is asked for once. */
export const cold: DrillGroup = { name: 'cold', share: 1, prefix: 'cold-', count: 20_000, pick: 'fresh', cold: true }
