// How much of a link's month is used.
import { Router } from 'express'
import { callerOf, methodNotAllowed, sendJson } from '../api/http.ts'
import type { Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import { parseCode, type Code } from '../link.ts'
import { readLink } from '../links/store.ts'
import { readHits } from './store.ts'

export interface HitsApiDeps {
  readonly sql: Sql
  /** Writes what this process has counted; other processes write once a second. */
  readonly flushClicks: () => Promise<void>
  /** Left in Redis; undefined: nobody can say. */
  readonly leftInRedis: (code: Code, linkId: number, month: string) => Promise<number | undefined>
  /** After so long without a hit nothing is in a process any more: it was served, went back, or is lost. */
  readonly settledMs: number
}

export function hitsRouter(deps: HitsApiDeps): Router {
  const router = Router({ caseSensitive: true })
  router
    .route('/links/:code/hits')
    .get(async (request, response) => {
      const caller = callerOf(response)
      const code = parseCode(request.params.code)
      const link = code && (await readLink(deps.sql, code, caller.isOwner ? null : caller.tenant))
      if (!link) throw new QuickLinkError('not_found', 'There is no link with this code.')
      await deps.flushClicks()
      const { month, endsMs, used, granted, quietMs } = await readHits(deps.sql, link.id)
      const limit = link.monthlyHits
      let remaining: number | null = null
      if (limit !== null) {
        remaining = limit - used
        if (granted >= limit && quietMs !== null && quietMs > deps.settledMs) {
          // Nothing more will be granted: what is not in Redis was lost.
          const left = await deps.leftInRedis(link.code, link.id, month).catch(() => undefined)
          remaining = Math.min(remaining, left ?? remaining)
        }
        remaining = Math.max(0, remaining)
      }
      sendJson(response, 200, { month, used, limit, remaining, resetsAt: new Date(endsMs).toISOString() })
    })
    .all(methodNotAllowed('GET', 'HEAD'))
  return router
}
