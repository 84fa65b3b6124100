// Files that are coming: so many of a tenant, and in this process. Their requests may take longer than others do.
import type { IncomingMessage } from 'node:http'
import { limits } from '../limits.ts'
import { QuickLinkError } from '../errors.ts'

const retryAfterS = 5

export type Places = ReturnType<typeof createPlaces>

export function createPlaces(bounds: { readonly importsComing: number; readonly importsComingHere: number } = limits) {
  const coming = new Map<string, number>()
  const requests = new WeakSet<IncomingMessage>()
  let all = 0
  return {
    /** Answers how it is left. Throws where there is none. */
    enter(tenant: string, request: IncomingMessage): () => void {
      const own = coming.get(tenant) ?? 0
      if (own >= bounds.importsComing) {
        throw new QuickLinkError('rate_limited', 'Another file of this tenant is still coming: send this one when it is there.', { retryAfterS })
      }
      if (all >= bounds.importsComingHere) {
        throw new QuickLinkError('unavailable', 'Too many files are coming at the moment: try again soon.', { retryAfterS })
      }
      coming.set(tenant, own + 1)
      all++
      requests.add(request)
      return () => {
        all--
        requests.delete(request)
        const left = (coming.get(tenant) ?? 1) - 1
        if (left === 0) coming.delete(tenant)
        else coming.set(tenant, left)
      }
    },
    /** This request has bounds of its own. */
    isComing: (request: IncomingMessage): boolean => requests.has(request),
  }
} // prettier-ignore
