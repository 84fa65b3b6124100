// Figures of several runs, and percentiles of very many latencies.

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? NaN
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2
  return { median, min: sorted[0] ?? NaN, max: sorted.at(-1) ?? NaN }
}

/** The value that so large a share of them does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
}

/** What half of them lie between; undefined: too few to say. */
export function quartilesOf(values: readonly number[]): readonly [number, number] | undefined {
  const finite = values.filter(Number.isFinite)
  return finite.length < 4 ? undefined : [quantile(finite, 0.25), quantile(finite, 0.75)]
}

/** Whole microseconds; what is longer is in the last bucket. */
const longestUs = 2_000_000

/** Exact to the microsecond, in a fixed amount of memory: the recorder must not collect garbage while it measures. */
export class Latencies {
  readonly #counts = new Uint32Array(longestUs + 1)
  #total = 0

  add(ms: number): void {
    const us = Math.min(longestUs, Math.max(0, Math.round(ms * 1000)))
    this.#counts[us]!++
    this.#total++
  }

  get count(): number {
    return this.#total
  }

  /** Milliseconds. The share is from 0 to 1. */
  quantile(share: number): number {
    const wanted = Math.max(1, Math.ceil(share * this.#total))
    let seen = 0
    for (let us = 0; us <= longestUs; us++) {
      seen += this.#counts[us] ?? 0
      if (seen >= wanted) return us / 1000
    }
    return NaN
  }
}
