// The routes of links. What a request may say is in input.ts and destination.ts; what happens then, in change-link.ts.
import type { Request } from 'express'
import type { Cursors } from '../api/cursors.ts'
import { route, type Caller, type Route } from '../api/operation.ts'
import { readClicks } from '../clicks/history.ts'
import { QuickLinkError } from '../errors.ts'
import type { Code } from '../link.ts'
import { asChange, changeLink, deleteLink, type Target, type WriteDeps } from './change-link.ts'
import { createLink } from './create-link.ts'
import { parseDestination } from './destination.ts'
import { etagOf, versionsOf } from './etag.ts'
import { idempotencyKey } from './idempotency.ts'
import { agreedExpiry, agreedHits, clicksRange, parseCustomCode } from './input.ts'
import * as operations from './operations.ts'
import type { LinkShown } from './operations.ts'
import type { Search } from './search.ts'
import { listLinks, readLink, type LinkPatch, type LinkRow, type Scope } from './store.ts'
import type { Tier } from '../tenants/tiers.ts'

export interface LinksApiDeps extends WriteDeps {
  /** What short URLs begin with, without a slash at the end. */
  readonly publicUrl: string
  readonly cursors: Cursors
  readonly search: Search
}

export function linkRoutes(deps: LinksApiDeps): Route[] {
  const { db, publicUrl, cursors, search } = deps
  const shown = (row: LinkRow) => present(publicUrl, row)
  /** The link of this path that the caller may see. */
  const existing = async (code: Code, caller: Caller): Promise<LinkRow> => {
    const row = await readLink(db, code, scopeOf(caller))
    if (!row) throw noLink(code)
    return row
  }
  return [
    route(operations.create, async ({ caller: { tenant }, body, request }) => {
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
      return { body: answer, headers: { Location: `/api/v1/links/${answer.code}`, ETag: etagOf(answer) } }
    }),
    route(operations.list, async ({ caller, query: { limit, cursor, q, enabled, tenant } }) => {
      const scope = listScope(caller, tenant)
      const pages = scope === null ? ['links'] : ['links', scope]
      const beforeId = cursor === undefined ? undefined : cursors.open(pages, cursor)
      const query = { scope, limit, beforeId, enabled }
      const { rows, nextId } = q
        ? await search(caller.tenant, q, (sql, match) => listLinks(sql, query, match))
        : await listLinks(db, query)
      const nextCursor = nextId === undefined ? null : cursors.seal(pages, nextId)
      return { body: { items: rows.map(shown), nextCursor } }
    }),
    route(operations.read, async ({ caller, params }) => withTag(shown(await existing(params.code, caller)))),
    route(operations.change, async ({ caller, params: { code }, body: { url, ...rest }, request }) => {
      const given = url === undefined ? rest : { ...rest, url: parseDestination(url, ownHosts(deps, request)) }
      const target = targetOf(code, caller, request)
      const row = await asChange(deps, caller.tenant, async () =>
        changeLink(deps, target, await agreed(deps, target, given)),
      )
      return withTag(shown(row))
    }),
    route(operations.remove, async ({ caller, params: { code }, request }) => {
      const target = targetOf(code, caller, request)
      await asChange(deps, caller.tenant, () => deleteLink(deps, target))
      return undefined
    }),
    route(operations.readClicks, async ({ caller, params: { code }, query }) => {
      const range = clicksRange(query, Date.now())
      const link = await existing(code, caller)
      const buckets = await readClicks(db, { linkId: link.id, ...range })
      return {
        body: {
          total: buckets.reduce((total, bucket) => total + bucket.clicks, 0),
          buckets: buckets.map(({ at, clicks }) => ({ at: at.toISOString(), clicks })),
        },
      }
    }),
  ]
}

/** What it promises of a link. */
const tierOf = async ({ tiers, directory }: WriteDeps, tenant: string): Promise<Tier> =>
  tiers[(await directory.get(tenant)).tier]

/** Whoever changes a link, it is held to the terms of its own tenant. */
async function agreed(deps: LinksApiDeps, { code, scope }: Target, given: LinkPatch): Promise<LinkPatch> {
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

const noLink = (which: string): QuickLinkError => new QuickLinkError('not_found', `There is no link ${which}.`)

/** A tenant sees its own links: of another's it is told what it would be told if there were none. */
const scopeOf = (caller: Caller): Scope => (caller.isOwner ? null : caller.tenant)

const targetOf = (code: Code, caller: Caller, request: Pick<Request, 'get'>): Target => ({
  code,
  scope: scopeOf(caller),
  versions: versionsOf(request.get('If-Match')),
})

const withTag = (link: LinkShown) => ({ body: link, headers: { ETag: etagOf(link) } })

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

function present(publicUrl: string, row: LinkRow): LinkShown {
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
