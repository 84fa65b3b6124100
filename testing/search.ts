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

/** What was found is made smaller for so long: a slow property could take hours. */
const shrinkForMs = 60_000

/** Rejects with reason, seed, way and case when the property does not hold. What it finds first is printed at once. */
export async function search<Case>(
  what: string,
  property: fc.IAsyncProperty<Case>,
  runs: number,
  explain: (found: Case) => string | Promise<string> = () => '',
  shrinkMs = shrinkForMs,
): Promise<void> {
  const fresh = forMs !== undefined && given === undefined
  const seed = fresh ? Math.floor(Math.random() * 2 ** 31) : fixedSeed
  const numRuns = searchRuns ?? (forMs === undefined ? runs : 2 ** 30)
  const bound = forMs === undefined ? {} : { interruptAfterTimeLimit: forMs, markInterruptAsFailure: false }
  if (forMs !== undefined) console.log(`${what}: QL_SEARCH_SEED=${seed}, for at most ${forMs / 1000} s`)
  const first = await fc.check(property, { seed, numRuns, endOnFailure: true, ...bound })
  if (forMs !== undefined) console.log(`${what}: ${first.numRuns} cases`)
  if (!first.failed) return
  const report = (result: fc.RunDetails<Case>): string =>
    [what, String(result.errorInstance), `QL_SEARCH_SEED=${seed}`, fc.defaultReportMessage(result)].join('\n')
  console.log(`${report(first)}\nFor at most ${shrinkMs / 1000} s a smaller case is looked for.`)
  const path = first.counterexamplePath ?? ''
  const shrunk = await fc.check(property, { seed, path, interruptAfterTimeLimit: shrinkMs })
  const found = shrunk.failed && shrunk.counterexample !== null ? shrunk : first
  throw new Error(`${report(found)}\n${found.counterexample === null ? '' : await explain(found.counterexample)}`)
}
