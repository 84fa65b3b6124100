// How much of a link's month is used.
import { z } from 'zod'
import { codeNamed, count, domainQuery, timeShown } from '../api/fields.ts'
import { operationsOf, route, type Route } from '../api/operation.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Names } from '../domains/names.ts'
import { QuickLinkError } from '../errors.ts'
import type { Code } from '../link.ts'
import { readLink } from '../links/store.ts'
import { readHits } from './store.ts'

const operation = operationsOf('Links')

export interface HitsApiDeps {
  readonly sql: Sql
  readonly names: Names
  /** Writes what this process has counted; other processes write once a second. */
  readonly flushClicks: () => Promise<void>
  /** Left in Redis; undefined: nobody can say. */
  readonly leftInRedis: (code: Code, linkId: number, month: string) => Promise<number | undefined>
  /** After so long without a hit nothing is in a process any more: it was served, went back, or is lost. */
  readonly settledMs: number
}

export const readHitsOperation = operation('readHits', 'get', '/links/{code}/hits', 'viewer', {
  summary: "What is used of a link's month",
  about: 'A limit is never exceeded, whatever fails; a link may end a little short of it.',
  params: z.object({ code: codeNamed }),
  query: domainQuery,
  answer: {
    status: 200,
    what: 'The hits of this month.',
    schema: z
      .object({
        month: z.string().meta({ description: 'In UTC.', examples: ['2030-01'] }),
        used: count,
        limit: count.nullable(),
        remaining: count.nullable(),
        settling: z.boolean().meta({
          description:
            'All hits have been handed out to servers, and those that they have not used come back or are lost within seconds: until then `remaining` is at most so much, and a visitor may be told 429.',
        }),
        resetsAt: timeShown,
      })
      .meta({ id: 'Hits' }),
  },
})

export const hitRoutes = (deps: HitsApiDeps): Route[] => [
  route(readHitsOperation, async ({ caller, params, query }) => {
    const code = deps.names.codeAt(params.code, query.domain)
    const link = await readLink(deps.sql, code, caller.isOwner ? null : caller.tenant)
    if (!link) throw new QuickLinkError('not_found', 'There is no link with this code.')
    await deps.flushClicks()
    const { month, endsMs, used, granted, quietMs } = await readHits(deps.sql, link.id)
    const limit = link.monthlyHits
    const free = limit === null ? null : Math.max(0, limit - used)
    // Nothing more will be granted: what processes and Redis do not have is lost, and a visitor may be refused already.
    const isLast = limit !== null && granted >= limit && free !== 0
    const isQuiet = quietMs !== null && quietMs > deps.settledMs
    const left =
      isLast && isQuiet ? await deps.leftInRedis(link.code, link.id, month).catch(() => undefined) : undefined
    const remaining = free === null ? null : Math.max(0, Math.min(free, left ?? free))
    const settling = isLast && !isQuiet
    return { body: { month, used, limit, remaining, settling, resetsAt: new Date(endsMs).toISOString() } }
  }),
]
