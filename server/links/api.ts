// The routes of links. What a request may say is in input.ts and destination.ts; what happens then, in change-link.ts.
import { Router, type Request, type Response } from 'express'
import {
  callerOf,
  jsonBody,
  methodNotAllowed,
  parseBody,
  parseQuery,
  sendJson,
  sendNothing,
  type Caller,
} from '../api/http.ts'
import type { Cursors } from '../api/cursors.ts'
import { readClicks } from '../clicks/history.ts'
import { QuickLinkError } from '../errors.ts'
import { parseCode, type Code } from '../link.ts'
import { asChange, changeLink, deleteLink, type WriteDeps } from './change-link.ts'
import { createLink } from './create-link.ts'
import { parseDestination } from './destination.ts'
import { idempotencyKey } from './idempotency.ts'
import {
  agreedExpiry,
  agreedHits,
  clicksRange,
  clicksSchema,
  createSchema,
  listSchema,
  parseCustomCode,
  patchSchema,
} from './input.ts'
import type { Search } from './search.ts'
import { listLinks, readLink, type LinkPatch, type LinkRow, type Scope } from './store.ts'
import type { Tier } from '../tenants/tiers.ts'

export interface LinksApiDeps extends WriteDeps {
  /** What short URLs begin with, without a slash at the end. */
  readonly publicUrl: string
  readonly cursors: Cursors
  readonly search: Search
}

export function linksRouter(deps: LinksApiDeps): Router {
  const { db, publicUrl, cursors, search } = deps
  const shown = (row: LinkRow): object => present(publicUrl, row)
  /** The link of this path that the caller may see. */
  const existing = async (text: string, response: Response): Promise<LinkRow> => {
    const code = codeOf(text)
    const row = await readLink(db, code, scopeOf(callerOf(response)))
    if (!row) throw noLink(code)
    return row
  }
  const router = Router({ caseSensitive: true })
  router
    .route('/links')
    .post(...jsonBody, async (request, response) => {
      const { tenant } = callerOf(response)
      const body = parseBody(createSchema, request)
      const terms = await tierOf(deps, tenant)
      const answer = await createLink(deps, {
        link: {
          tenant,
          url: parseDestination(body.url, ownHosts(deps, request)),
          permanent: body.permanent ?? false,
          enabled: body.enabled ?? true,
          expiresAt: agreedExpiry(terms, body.expiresAt ?? null, Date.now()),
          monthlyHits: agreedHits(terms, body.monthlyHits ?? null),
        },
        code: body.code === undefined ? undefined : parseCustomCode(body.code),
        idempotencyKey: idempotencyKey(request.get('Idempotency-Key'), body),
        present: shown,
      })
      const { code } = answer as { code: string }
      sendJson(response, 201, answer, { Location: `/api/v1/links/${code}` })
    })
    .get(async (request, response) => {
      const { limit, cursor, q, enabled, tenant } = parseQuery(listSchema, request)
      const scope = listScope(callerOf(response), tenant)
      const pages = scope === null ? ['links'] : ['links', scope]
      const beforeId = cursor === undefined ? undefined : cursors.open(pages, cursor)
      const query = { scope, limit, beforeId, enabled }
      const { rows, nextId } = q
        ? await search(callerOf(response).tenant, q, (sql, match) => listLinks(sql, query, match))
        : await listLinks(db, query)
      const nextCursor = nextId === undefined ? null : cursors.seal(pages, nextId)
      sendJson(response, 200, { items: rows.map(shown), nextCursor })
    })
    .all(methodNotAllowed('GET', 'HEAD', 'POST'))
  router
    .route('/links/:code')
    .get(async ({ params }, response) => sendJson(response, 200, shown(await existing(params.code, response))))
    .patch(...jsonBody, async (request, response) => {
      const code = codeOf(request.params.code)
      const { url, ...rest } = parseBody(patchSchema, request)
      const given = url === undefined ? rest : { ...rest, url: parseDestination(url, ownHosts(deps, request)) }
      const caller = callerOf(response)
      const scope = scopeOf(caller)
      const row = await asChange(deps, caller.tenant, async () =>
        changeLink(deps, code, scope, await agreed(deps, code, scope, given)),
      )
      sendJson(response, 200, shown(row))
    })
    .delete(async ({ params }, response) => {
      const code = codeOf(params.code)
      const caller = callerOf(response)
      await asChange(deps, caller.tenant, () => deleteLink(deps, code, scopeOf(caller)))
      sendNothing(response)
    })
    .all(methodNotAllowed('GET', 'HEAD', 'PATCH', 'DELETE'))
  router
    .route('/links/:code/clicks')
    .get(async (request, response) => {
      const range = clicksRange(parseQuery(clicksSchema, request), Date.now())
      const link = await existing(request.params.code, response)
      const buckets = await readClicks(db, { linkId: link.id, ...range })
      sendJson(response, 200, {
        total: buckets.reduce((total, bucket) => total + bucket.clicks, 0),
        buckets: buckets.map(({ at, clicks }) => ({ at: at.toISOString(), clicks })),
      })
    })
    .all(methodNotAllowed('GET', 'HEAD'))
  return router
}

/** What it promises of a link. */
const tierOf = async ({ tiers, directory }: WriteDeps, tenant: string): Promise<Tier> =>
  tiers[(await directory.get(tenant)).tier]

/** Whoever changes a link, it is held to the terms of its own tenant. */
async function agreed(deps: LinksApiDeps, code: Code, scope: Scope, given: LinkPatch): Promise<LinkPatch> {
  const { expiresAt, monthlyHits } = given
  if (expiresAt === undefined && monthlyHits === undefined) return given
  const link = await readLink(deps.db, code, scope)
  if (!link) throw noLink(code)
  const terms = await tierOf(deps, link.tenant)
  return {
    ...given,
    ...(expiresAt === undefined ? {} : { expiresAt: agreedExpiry(terms, expiresAt, Date.now()) }),
    ...(monthlyHits === undefined ? {} : { monthlyHits: agreedHits(terms, monthlyHits) }),
  }
}

function codeOf(text: string): Code {
  const code = parseCode(text)
  if (code === undefined) throw noLink('with this code')
  return code
}

const noLink = (which: string): QuickLinkError => new QuickLinkError('not_found', `There is no link ${which}.`)

/** A tenant sees its own links: of another's it is told what it would be told if there were none. */
const scopeOf = (caller: Caller): Scope => (caller.isOwner ? null : caller.tenant)

function listScope(caller: Caller, tenant: string | undefined): Scope {
  if (caller.isOwner) return tenant ?? null
  if (tenant !== undefined && tenant !== caller.tenant) {
    throw new QuickLinkError('forbidden', "Only the owner may list another tenant's links.")
  }
  return caller.tenant
}

/** The Host header is the caller's choice, and may be missing: it can only have a link refused, never one accepted. */
const ownHosts = (deps: LinksApiDeps, request: Pick<Request, 'get'>): string[] => [
  new URL(deps.publicUrl).host,
  request.get('Host') ?? '',
]

function present(publicUrl: string, row: LinkRow): object {
  return {
    code: row.code,
    shortUrl: `${publicUrl}/${row.code}`,
    url: row.url,
    permanent: row.permanent,
    enabled: row.enabled,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    monthlyHits: row.monthlyHits,
    clicks: row.clicks,
    tenant: row.tenant,
    version: row.version,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}
