// Samples of several processes become one page: counters and histograms summed, each gauge by its own aggregator.
import type { Named } from './report.ts'

type Combine = (values: readonly number[]) => number

const sum: Combine = (values) => values.reduce((all, value) => all + value, 0)
const combine: Record<Named['aggregator'], Combine> = {
  sum,
  first: (values) => values[0] as number,
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
  average: (values) => sum(values) / values.length,
}

interface Family {
  readonly head: string
  readonly combine: Combine
  readonly series: Map<string, Series>
}

/** The same object for all processes. */
export interface Series {
  /** `name{label="value"}` */
  readonly line: string
  /** It only ever grows, and so outlives its process. */
  readonly grows: boolean
}

/** What a process told last, by series. */
export type Samples = ReadonlyMap<Series, number>

export class Page {
  readonly #families = new Map<string, Family>()

  /** In the order in which they were named. */
  seriesOf({ metric, head, aggregator, grows, series }: Named): Series[] {
    let family = this.#families.get(metric)
    if (!family) this.#families.set(metric, (family = { head, combine: combine[aggregator], series: new Map() }))
    const known = family.series
    return series.map((line) => {
      const same = known.get(line) ?? { line, grows }
      known.set(line, same)
      return same
    })
  }

  /** The page line by line, so that the caller may pause. A series without a sample has none. */
  *lines(all: readonly Samples[]): Generator<string> {
    for (const { head, combine, series } of this.#families.values()) {
      yield head
      for (const one of series.values()) {
        const values = all.flatMap((samples) => samples.get(one) ?? [])
        if (values.length > 0) yield `${one.line} ${combine(values)}`
      }
    }
  }
}
