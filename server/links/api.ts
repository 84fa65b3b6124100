// The routes of links. What a request may say is in input.ts and destination.ts; what happens then, in change-link.ts.
import type { Request } from 'express'
import type { Cursors } from '../api/cursors.ts'
import { route, type Caller, type Route } from '../api/operation.ts'
import { readClicks } from '../clicks/history.ts'
import type { Names } from '../domains/names.ts'
import { invalid } from '../errors.ts'
import { codeAt, type Code } from '../link.ts'
import {
  asChange,
  changeLink,
  deleteLink,
  hasTerms,
  noLink,
  onTerms,
  tierOf,
  type LinkChange,
  type Target,
  type WriteDeps,
} from './change-link.ts'
import { exportLinks } from './bulk-operations.ts'
import { createLink } from './create-link.ts'
import { changeOf, newLinkOf } from './asked.ts'
import { etagOf, statesOf } from './etag.ts'
import { exportTypes, type Exports } from './export.ts'
import { filtersOf, listScope } from './filters.ts'
import { idempotencyKey } from './idempotency.ts'
import { clicksRange, tagGiven } from './input.ts'
import * as operations from './operations.ts'
import type { Reads } from '../connections/nearest.ts'
import { listLinks } from './list.ts'
import type { Leash } from './search.ts'
import { present, type LinkShown } from './shown.ts'
import { findPlain, IsThere, mustBePlain } from './reuse.ts'
import { readLink, type LinkRow, type Scope } from './store.ts'
import { deleteTag, keyOf, listTags, renameTag } from './tags.ts'

export interface LinksApiDeps extends WriteDeps {
  readonly names: Names
  readonly cursors: Cursors
  readonly leash: Leash
  readonly exports: Exports
  /** For what may be a little old. */
  readonly figures: Reads
}

/** Those of many before those of one, whose paths are a pattern of theirs. */
export function linkRoutes(deps: LinksApiDeps): Route[] {
  const { db, names, cursors, leash } = deps
  const shown = (row: LinkRow) => present(names, row)
  /** The link of this path that the caller may see. */
  const existing = async (code: Code, caller: Caller): Promise<LinkRow> => {
    const row = await readLink(db, code, scopeOf(caller))
    if (!row) throw noLink(code)
    return row
  }
  const made = (link: LinkShown) => ({
    body: link,
    headers: { Location: names.pathOf(codeAt(link.domain, link.code as Code)), ETag: etagOf(link) },
  })
  return [
    route(operations.create, async ({ caller, by, query, body, request }) => {
      const { tenant } = caller
      const terms = await tierOf(deps, tenant)
      const { link, code, domain, password } = newLinkOf(deps, caller, terms, body, ownHosts(deps, request))
      // A fast hash of a password would undo the slow one.
      const key = idempotencyKey(request.get('Idempotency-Key'), password ? { ...body, password: true } : body)
      const unlessThere = query.onExisting === undefined ? undefined : terms
      const isThere = (row: LinkRow) => ({ status: 200, ...made(shown(row)) })
      if (unlessThere) {
        mustBePlain(body)
        // Who is answered so takes nothing of the hour's creates. The create looks again.
        const [there] = await findPlain(db, tenant, terms, [{ url: link.url, domain }])
        if (there) return isThere(there)
      }
      const asked = { link, code, domain, password, unlessThere, idempotencyKey: key, by, present: shown }
      try {
        return made(await createLink(deps, asked))
      } catch (error) {
        if (error instanceof IsThere) return isThere(error.row)
        throw error
      }
    }),
    route(operations.list, async ({ caller, query: { limit, cursor, sort, ...asked } }) => {
      const { scope, ...filters } = filtersOf(asked, caller, names)
      const pages = ['links', JSON.stringify([scope, Object.entries({ ...filters, sort }).sort()])]
      const after = cursor === undefined ? undefined : cursors.open(pages, cursor)
      const { rows, next } = await listLinks(db, leash, caller.tenant, { ...filters, sort, scope, limit, after })
      return { body: { items: rows.map(shown), nextCursor: next ? cursors.seal(pages, next) : null } }
    }),
    route(exportLinks, ({ caller, query: { format, ...asked } }) => {
      const filters = filtersOf(asked, caller, names)
      return Promise.resolve({
        type: exportTypes[format],
        parts: () => deps.exports(caller.tenant, filters, format),
      })
    }),
    route(operations.read, async ({ caller, params, query }) =>
      withTag(shown(await existing(names.codeAt(params.code, query.domain), caller))),
    ),
    route(operations.change, async ({ caller, by, params, query, body, request }) => {
      const given = changeOf(body, ownHosts(deps, request))
      const target = targetOf(names.codeAt(params.code, query.domain), caller, request)
      const row = await asChange(deps, caller.tenant, async () => {
        const { patch, tenant } = await agreed(deps, target, given)
        return changeLink(deps, target, patch, { tenant, by, present: shown })
      })
      return withTag(shown(row))
    }),
    route(operations.remove, async ({ caller, by, params, query, request }) => {
      const target = targetOf(names.codeAt(params.code, query.domain), caller, request)
      await asChange(deps, caller.tenant, () => deleteLink(deps, target, by))
      return undefined
    }),
    route(operations.listTags, async ({ caller, query: { tenant, limit, cursor } }) => {
      const after = cursor === undefined ? '' : fromTagCursor(cursor)
      const { items, next } = await listTags(db, { tenant: tagsOf(caller, tenant), limit, after })
      return { body: { items, nextCursor: next === undefined ? null : toTagCursor(next) } }
    }),
    route(operations.renameTag, async ({ caller, by, params: { tag }, query: { tenant }, body: { name } }) => {
      const whose = tagsOf(caller, tenant)
      return { body: await asChange(deps, caller.tenant, () => renameTag(db, whose, tag, name, by)) }
    }),
    route(operations.removeTag, async ({ caller, by, params: { tag }, query: { tenant } }) => {
      const whose = tagsOf(caller, tenant)
      await asChange(deps, caller.tenant, () => deleteTag(db, whose, tag, by))
      return undefined
    }),
    route(operations.readClicks, async ({ caller, params, query }) => {
      const range = clicksRange(query, Date.now())
      const link = await existing(names.codeAt(params.code, query.domain), caller)
      const buckets = await readClicks(deps.figures, { linkId: link.id, ...range })
      return {
        body: {
          total: buckets.reduce((total, bucket) => total + bucket.clicks, 0),
          buckets: buckets.map(({ at, clicks }) => ({ at: at.toISOString(), clicks })),
        },
      }
    }),
  ]
}

/** Whoever changes a link, it is held to the terms of its own tenant. */
async function agreed(
  deps: LinksApiDeps,
  { code, scope }: Target,
  given: LinkChange,
): Promise<{ patch: LinkChange; tenant: string }> {
  if (!hasTerms(given) && (given.tags === undefined || scope !== null)) return { patch: given, tenant: scope ?? '' }
  const link = await readLink(deps.db, code, scope)
  if (!link) throw noLink(code)
  const { tenant } = link
  return { patch: hasTerms(given) ? onTerms(await tierOf(deps, tenant), link, given) : given, tenant }
}

/** A tenant sees its own links: of another's it is told what it would be told if there were none. */
export const scopeOf = (caller: Caller): Scope => (caller.isOwner ? null : caller.tenant)

const targetOf = (code: Code, caller: Caller, request: Pick<Request, 'get'>): Target => ({
  code,
  scope: scopeOf(caller),
  states: statesOf(request.get('If-Match')),
})

const withTag = (link: LinkShown) => ({ body: link, headers: { ETag: etagOf(link) } })

/** Tags are a tenant's own: the owner names whose, or means its own. */
const tagsOf = (caller: Caller, tenant: string | undefined): string => listScope(caller, tenant) ?? caller.tenant

const toTagCursor = (last: string): string => Buffer.from(`tag:${last}`).toString('base64url')

function fromTagCursor(cursor: string): string {
  const last = /^tag:(.+)$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]
  const { data } = tagGiven.safeParse(last)
  if (data === undefined) throw invalid('cursor', 'cursor must be the nextCursor of an earlier page.')
  return keyOf(data)
}

/** The Host header is the caller's choice, and may be missing: it can only have a link refused, never one accepted. */
export const ownHosts = (deps: Pick<LinksApiDeps, 'names'>, request: Pick<Request, 'get'>): string[] => [
  ...deps.names.hosts(),
  request.get('Host') ?? '',
]
