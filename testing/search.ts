// What models and fuzzers have in common. `make test` repeats what one seed gives, so that it fails only when the code has
// changed; `npm run -s search`, a part of .ci/run, looks elsewhere each time, for as long as QL_SEARCH_MS allows. It prints
// its seed: QL_SEARCH_SEED takes that one again, QL_SEARCH_RUNS as many of its cases.
import fc from 'fast-check'

const whole = (name: string): number | undefined => {
  const given = process.env[name]
  return given === undefined ? undefined : Number(given)
}
const forMs = whole('QL_SEARCH_MS')
const given = whole('QL_SEARCH_SEED')

/** For the tests that `npm run -s search` runs. */
export const searches = { tags: ['search'], timeout: 600_000 + (forMs ?? 0) }

/** How many cases, where that is asked for. */
export const searchRuns = whole('QL_SEARCH_RUNS')

/** Flaws that are put in on purpose are looked for from the same place every time. */
export const fixedSeed = given ?? 20_240_611

/** Rejects with seed, way and case when the property does not hold. */
export async function search<Case>(
  what: string,
  property: fc.IAsyncProperty<Case>,
  runs: number,
  explain: (found: Case) => string | Promise<string> = () => '',
): Promise<void> {
  const fresh = forMs !== undefined && given === undefined
  const seed = fresh ? Math.floor(Math.random() * 2 ** 31) : fixedSeed
  const numRuns = searchRuns ?? (forMs === undefined ? runs : 2 ** 30)
  const bound = forMs === undefined ? {} : { interruptAfterTimeLimit: forMs, markInterruptAsFailure: false }
  if (forMs !== undefined) console.log(`${what}: QL_SEARCH_SEED=${seed}, for at most ${forMs / 1000} s`)
  const result = await fc.check(property, { seed, numRuns, ...bound })
  if (forMs !== undefined) console.log(`${what}: ${result.numRuns} cases`)
  if (!result.failed) return
  const more = result.counterexample === null ? '' : await explain(result.counterexample)
  throw new Error(
    [`QL_SEARCH_SEED=${seed}`, fc.defaultReportMessage(result), String(result.errorInstance), more].join('\n'),
  )
}
