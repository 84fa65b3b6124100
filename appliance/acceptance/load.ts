// Visits at a steady rate, each counted as a redirect or as what else it was.
import { visit } from './stand.ts'
import { check } from './steps.ts'

export interface Load {
  /** From now on so many a second. */
  pace(perSecond: number): void
  /** Ends it, waits for what is under way, and refuses when a visit was no redirect. */
  allRedirected(): Promise<string>
}

export function load(codes: readonly string[], perSecond: number): Load {
  const wrong: string[] = []
  const underWay = new Set<Promise<void>>()
  let visits = 0
  const visitNext = (): void => {
    const one = visit(`/${codes[visits++ % codes.length] ?? ''}`)
      .then(
        // The body says whose answer it was: QuickLink's names a problem, the proxy's is a page of its own.
        ({ status, body }) => void (status === 302 || wrong.push(`${status} ${body.slice(0, 120).trim()}`)),
        (error: unknown) => void wrong.push(String(error)),
      )
      .finally(() => underWay.delete(one))
    underWay.add(one)
  }
  let timer = setInterval(visitNext, 1000 / perSecond)
  return {
    pace(next) {
      clearInterval(timer)
      timer = setInterval(visitNext, 1000 / next)
    },
    async allRedirected() {
      clearInterval(timer)
      await Promise.all(underWay)
      check(wrong.length === 0, `${wrong.length} of ${visits} visits failed: ${[...new Set(wrong)].join(', ')}`)
      return `${visits} visits, 0 failed`
    },
  }
}
