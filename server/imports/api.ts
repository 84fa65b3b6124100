// The routes of imports, and how a file comes to wait for its turn.
import type { Request } from 'express'
import { randomBytes } from 'node:crypto'
import type { Cursors } from '../api/cursors.ts'
import { note } from '../audit/store.ts'
import { route, type Asked, type Caller, type Route } from '../api/operation.ts'
import { limits } from '../limits.ts'
import type { Postgres } from '../connections/postgres.ts'
import type { Names } from '../domains/names.ts'
import { QuickLinkError } from '../errors.ts'
import { csvLine } from '../links/csv.ts'
import type { Directory } from '../tenants/directory.ts'
import type { Tiers } from '../tenants/tiers.ts'
import { drain, refuseBody, textOf, type BodyBounds } from './body.ts'
import * as operations from './operations.ts'
import type { ImportShown } from './operations.ts'
import type { Places } from './places.ts'
import { receive } from './receive.ts'
import { columnsOf, listImports, readImport, readRefused, readWarnings, removeImport, type ImportRow, type Scope } from './store.ts' // prettier-ignore

export interface ImportsApiDeps {
  readonly db: Postgres
  readonly names: Names
  readonly directory: Directory
  readonly tiers: Tiers
  readonly cursors: Cursors
  readonly places: Places
  readonly bounds: BodyBounds
  /** One is waiting. */
  readonly onQueued: () => void
}

export function importRoutes(deps: ImportsApiDeps): Route[] {
  const { db, cursors } = deps
  return [
    route(operations.createImport, async (asked) => {
      const row = await create(deps, asked)
      deps.onQueued()
      return { body: { ...present(row), warnings: [] }, headers: { Location: `/api/v1/imports/${row.id}` } }
    }),
    route(operations.listImports, async ({ caller, query: { limit, cursor, tenant } }) => {
      const scope = tenant === undefined && caller.isOwner ? null : ofTenant(caller, tenant)
      const pages = ['imports', scope ?? '']
      const before = cursor === undefined ? null : cursors.open(pages, cursor).id
      const rows = await listImports(db, scope, limit, before)
      const last = rows.length > limit ? rows[limit - 1] : undefined
      const nextCursor = last ? cursors.seal(pages, { key: 0n, id: last.seq }) : null
      return { body: { items: rows.slice(0, limit).map(present), nextCursor } }
    }),
    route(operations.readImport, async ({ caller, params: { id } }) => {
      const row = await existing(db, id, caller)
      return { body: { ...present(row), warnings: row.warned === 0 ? [] : await readWarnings(db, id) } }
    }),
    route(operations.readRefused, async ({ caller, params: { id } }) => {
      await existing(db, id, caller)
      return {
        type: 'text/csv; charset=utf-8; header=present',
        headers: { 'Content-Disposition': `attachment; filename="refused-${id}.csv"` },
        parts: () => refusedTable(db, id),
      }
    }),
    route(operations.removeImport, async ({ caller, params: { id }, by }) => {
      await db.transaction(async (sql) => {
        const tenant = await removeImport(sql, id, scopeOf(caller))
        if (tenant === undefined) throw noImport(id)
        note(sql, by, { tenant, kind: 'import', target: id })
      })
      return undefined
    }),
  ]
}

const scopeOf = (caller: Caller): Scope => (caller.isOwner ? null : caller.tenant)

const noImport = (id: string): QuickLinkError => new QuickLinkError('not_found', `There is no import ${id}.`)

async function existing(db: Postgres, id: string, caller: Caller): Promise<ImportRow> {
  const row = await readImport(db, id, scopeOf(caller))
  if (!row) throw noImport(id)
  return row
}

function ofTenant(caller: Caller, tenant: string | undefined): string {
  if (tenant !== undefined && !caller.isOwner && tenant !== caller.tenant) {
    throw new QuickLinkError('forbidden', "Only the owner may import for another tenant, or ask for what is another tenant's.")
  }
  return tenant ?? caller.tenant
} // prettier-ignore

async function create(
  deps: ImportsApiDeps,
  { caller, query, request, by }: Asked<typeof operations.createImport>,
): Promise<ImportRow> {
  const { bounds, names, places } = deps
  const tenant = ofTenant(caller, query.tenant)
  const leave = places.enter(tenant, request)
  try {
    refuseBody(request, bounds)
    const { tier } = await deps.directory.get(tenant)
    return await receive(deps.db, textOf(request, bounds), {
      made: {
        id: randomBytes(12).toString('base64url'),
        tenant,
        domain: query.domain === undefined ? null : names.hostOf(query.domain),
        format: query.format,
        onConflict: query.onConflict,
        dryRun: query.dryRun,
        createdBy: caller.name,
      },
      asked: query.format,
      by,
      terms: {
        names,
        ownHosts: ownHosts(names, request),
        tier: deps.tiers[tier],
        host: query.domain === undefined ? undefined : names.hostOf(query.domain),
        createdBy: caller.name,
      },
    })
  } catch (error) {
    await drain(request)
    throw error
  } finally {
    leave()
  }
}

/** The Host header is the caller's choice, and may be missing: it can only have a link refused, never one accepted. */
const ownHosts = (names: Names, request: Pick<Request, 'get'>): string[] => [
  ...names.hosts(),
  request.get('Host') ?? '',
]

function present({ seq: _, createdAt, endedAt, ...row }: ImportRow): Omit<ImportShown, 'warnings'> {
  return { ...row, createdAt: createdAt.toISOString(), endedAt: endedAt?.toISOString() ?? null }
}

/** As it can be imported again, when it has been mended. */
async function* refusedTable(db: Postgres, id: string): AsyncGenerator<string> {
  const names = await columnsOf(db, id)
  yield csvLine(['line', 'reason', ...names, 'newCode'])
  for await (const rows of readRefused(db, id)) {
    yield rows.map(({ line, reason, source }) => csvLine([String(line), reason, ...names.map((_, n) => source[n] ?? ''), ''])).join('') // prettier-ignore
  }
}

/** How long it may be: nothing here is kept for a request of another kind. */
export const bodyBounds = (maxMb: number): BodyBounds => ({
  maxBytes: maxMb * 1_048_576,
  idleMs: limits.importIdleMs,
  wholeMs: limits.importMs,
})
