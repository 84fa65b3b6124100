// Measures the promise: a few codes a second, what a trusted Redis says against what Postgres says. A difference is
// looked at again a second later, when every pass must have been there; what is still different was served wrongly.
import { agree, type Code, type Known } from '../link.ts'
import { limits } from '../limits.ts'
import type { Partitions } from '../connections/partitions.ts'
import type { SharedCache } from './shared-cache.ts'
import type { Trust } from './trust.ts'
import type { Truth } from './truth.ts'

interface CheckerDeps {
  readonly partitions: Partitions<{ readonly cache: SharedCache; readonly trust: Trust }>
  readonly truth: Truth
  /** Codes that were asked for lately. */
  readonly codes: () => readonly Code[]
  readonly onStale: (code: Code, held: Known, truth: Known) => void
}

const againAfterMs = 1000

/** Until the function that it returns is called. */
export function startChecker(deps: CheckerDeps): () => void {
  const later = new Set<NodeJS.Timeout>()

  const difference = async (code: Code): Promise<[Known, Known] | undefined> => {
    const { cache, trust } = deps.partitions.of(code)
    if (!cache.ready || !trust.holds(cache.connection)) return undefined
    const [held] = await cache.read([code])
    if (held === undefined) return undefined
    // Redis first: a change in between makes Postgres the newer one, which the second look sorts out.
    const [truth] = await deps.truth.read([code])
    if (truth === undefined || agree(held.known, truth) || !trust.holds(cache.connection)) return undefined
    return [held.known, truth]
  }

  const lookAgain = async (code: Code, [before]: [Known, Known]): Promise<void> => {
    const found = await difference(code)
    if (found?.[0].version === before.version) deps.onStale(code, ...found)
  }

  const check = async (code: Code): Promise<void> => {
    const found = await difference(code)
    if (found === undefined) return
    const timer = setTimeout(() => {
      later.delete(timer)
      lookAgain(code, found).catch(() => undefined)
    }, againAfterMs)
    later.add(timer)
  }

  const timer = setInterval(() => {
    const codes = deps.codes()
    const code = codes[Math.floor(Math.random() * codes.length)]
    // Where Redis or Postgres does not answer, there is nothing to compare.
    if (code !== undefined) check(code).catch(() => undefined)
  }, 1000 / limits.checksPerSecond)

  return () => {
    clearInterval(timer)
    for (const each of later) clearTimeout(each)
  }
}
