// The routes for many links at once.
import type { Request } from 'express'
import { parse } from '../api/http.ts'
import { route, type Caller, type Route } from '../api/operation.ts'
import { Turns } from '../api/turns.ts'
import { limits } from '../limits.ts'
import { invalid, QuickLinkError, toProblem } from '../errors.ts'
import { parseCode, type Code } from '../link.ts'
import type { LinksApiDeps } from './api.ts'
import { changeOf, newLinkOf, type NewAsked } from './asked.ts'
import * as operations from './bulk-operations.ts'
import { changeLinks, deleteLinks, type Targets } from './bulk.ts'
import { asChange, noLink, tierOf } from './change-link.ts'
import { createLinks } from './create-links.ts'
import { filtersOf } from './filters.ts'
import { idempotencyKey } from './idempotency.ts'
import { createSchema } from './input.ts'
import { listLinks } from './list.ts'
import { makeAll, mustBePlain, reuse } from './reuse.ts'
import { present, type LinkShown } from './shown.ts'
import { ownHosts, scopeOf } from './api.ts'
import type { Tier } from '../tenants/tiers.ts'
import type { LinkRow } from './store.ts'

const refusal = (error: QuickLinkError) => {
  const { status, body } = toProblem(error)
  return {
    status,
    problem: body as { status: number; title: string; detail: string; code: string; type: 'about:blank' },
  }
}

export function bulkRoutes(deps: LinksApiDeps): Route[] {
  const { names } = deps
  const turns = new Turns({
    running: limits.bulkWorking,
    waiting: limits.bulkRequests,
    waitingOfTenant: 1,
    what: 'request for many links',
  })
  const inTurn = <T>({ tenant }: Caller, work: () => Promise<T>): Promise<T> => turns.in(tenant, work)
  const shown = (row: LinkRow): LinkShown => present(names, row)
  const shownAs = (status: number) => (result: LinkRow | QuickLinkError) =>
    result instanceof QuickLinkError ? refusal(result) : { status, link: shown(result) }

  return [
    route(operations.createMany, ({ caller, by, query: { onExisting }, body, request }) =>
      inTurn(caller, async () => {
        const { tenant } = caller
        const terms = await tierOf(deps, tenant)
        const asked = await readEach(deps, caller, terms, body.links, request, onExisting !== undefined)
        const key = idempotencyKey(request.get('Idempotency-Key'), { links: body.links.map(asAsked) })
        const unlessThere = onExisting === undefined ? undefined : terms
        // Who is answered so takes nothing of the hour's creates. Before they are made it is looked again.
        const { toMake, whole } = unlessThere ? await reuse(deps.db, tenant, terms, asked) : makeAll(asked)
        const results = await createLinks(deps, {
          tenant,
          links: toMake,
          by,
          unlessThere,
          idempotencyKey: key,
          present: (made) => whole(made).map(({ row, isThere }) => shownAs(isThere ? 200 : 201)(row)),
          shown,
        })
        return { body: { results } }
      }),
    ),
    route(operations.changeMany, ({ caller, by, query, body, request }) =>
      inTurn(caller, async () => {
        const { addTags, removeTags, ...rest } = body.change
        const change = { ...changeOf(rest, ownHosts(deps, request)), addTags, removeTags }
        const asked = await meant(deps, caller, body, query.domain)
        const outcomes = await asChange(deps, caller.tenant, () =>
          changeLinks(deps, asked.targets, change, { by, present: shown }),
        )
        const results = asked.codes.map(({ code, said }) => shownAs(200)((code && outcomes.get(code)) ?? noLink(said)))
        return { body: { results, nextCursor: asked.nextCursor } }
      }),
    ),
    route(operations.removeMany, ({ caller, by, query, body }) =>
      inTurn(caller, async () => {
        const asked = await meant(deps, caller, body, query.domain)
        const outcomes = await asChange(deps, caller.tenant, () => deleteLinks(deps, asked.targets, by))
        const results = asked.codes.map(({ code, said }) => {
          const outcome = (code && outcomes.get(code)) ?? noLink(said)
          return { code: said, ...(outcome instanceof QuickLinkError ? refusal(outcome) : { status: 204 }) }
        })
        return { body: { results, nextCursor: asked.nextCursor } }
      }),
    ),
  ]
}

/** Of what it was asked with nothing is kept but a hash: a fast one of a password would undo the slow one. */
function asAsked(link: unknown): unknown {
  if (typeof link !== 'object' || link === null) return link
  const sorted = Object.entries(link).sort(([a], [b]) => (a < b ? -1 : 1))
  return sorted.map(([name, value]) => [name, name === 'password' && value !== null ? true : (value as unknown)])
}

/** Each by itself, with redirects served in between. */
async function readEach(
  deps: LinksApiDeps,
  caller: Caller,
  terms: Tier,
  links: readonly unknown[],
  request: Request,
  arePlain: boolean,
): Promise<(NewAsked | QuickLinkError)[]> {
  const hosts = ownHosts(deps, request)
  const asked: (NewAsked | QuickLinkError)[] = []
  let passwords = 0
  for (const link of links) {
    if (asked.length % limits.bulkStep === limits.bulkStep - 1)
      await new Promise<void>((resolve) => setImmediate(resolve))
    try {
      const said = parse(createSchema, link, 'link', 'a field')
      if (arePlain) mustBePlain(said)
      const one = newLinkOf(deps, caller, terms, said, hosts)
      if (one.password !== undefined && ++passwords > limits.bulkPasswords) throw tooManyPasswords()
      asked.push(one)
    } catch (error) {
      if (!(error instanceof QuickLinkError)) throw error
      asked.push(error)
    }
  }
  return asked
}

const tooManyPasswords = (): QuickLinkError =>
  invalid(
    'password',
    `password may be given to ${limits.bulkPasswords} links of a request: send the others in further ones.`,
  )

interface Which {
  readonly codes?: readonly string[] | undefined
  readonly filter?: Parameters<typeof filtersOf>[0] | undefined
  readonly cursor?: string | undefined
}

interface Meant {
  readonly targets: Targets
  /** As they were said, and in that order; undefined: no link has such a code. */
  readonly codes: readonly { readonly said: string; readonly code: Code | undefined }[]
  readonly nextCursor: string | null
}

async function meant(
  deps: LinksApiDeps,
  caller: Caller,
  { codes, filter, cursor }: Which,
  domain: string | undefined,
): Promise<Meant> {
  const { db, names, cursors, leash } = deps
  if (filter === undefined) {
    if (cursor !== undefined) throw invalid('cursor', 'cursor goes with a filter, not with codes: remove it.')
    const named = (codes ?? []).map((said) => {
      const slug = parseCode(said)
      return { said, code: slug && names.codeAt(slug, domain) }
    })
    return {
      targets: { codes: named.flatMap(({ code }) => code ?? []), scope: scopeOf(caller) },
      codes: named,
      nextCursor: null,
    }
  }
  if (domain !== undefined) throw invalid('domain', 'domain of the query goes with codes: name it in the filter.')
  const { scope, ...filters } = filtersOf(filter, caller, names)
  const pages = ['links/bulk', JSON.stringify([scope, Object.entries(filters).sort()])]
  const after = cursor === undefined ? undefined : cursors.open(pages, cursor)
  const query = { ...filters, sort: 'newest' as const, scope, limit: limits.bulkLinks, after }
  const { rows, next } = await listLinks(db, leash, caller.tenant, query)
  return {
    // What somebody else has changed meanwhile may fit no longer.
    targets: { codes: rows.map(({ code }) => code), scope, states: new Map(rows.map((row) => [row.code, row])) },
    codes: rows.map(({ code }) => ({ said: names.shown(code).code, code })),
    nextCursor: next ? cursors.seal(pages, next) : null,
  }
}
