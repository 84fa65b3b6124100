// The audit log, read.
import type { Cursors } from '../api/cursors.ts'
import { route, type Caller, type Route } from '../api/operation.ts'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Names } from '../domains/names.ts'
import { invalid, QuickLinkError } from '../errors.ts'
import type { Code } from '../link.ts'
import { listAudit, type EntryShown } from './operations.ts'
import { listEntries, type Asked, type Entry } from './store.ts'

interface AuditDeps {
  readonly sql: Sql
  readonly names: Names
  readonly cursors: Cursors
}

export const auditRoutes = ({ sql, names, cursors }: AuditDeps): Route[] => [
  route(listAudit, async ({ caller, query: { limit, cursor, code, domain, tenant }, request }) => {
    if (code === undefined && domain !== undefined) throw invalid('domain', 'domain needs a code: name the link.')
    const asked: Asked = {
      tenant: logOf(caller, tenant),
      code: code === undefined ? undefined : names.codeAt(code, domain),
      byOwner: caller.isOwner,
    }
    const shown = (entry: Entry): EntryShown => present(names, caller, entry)
    if (request.accepts('application/json', 'application/x-ndjson') === 'application/x-ndjson') {
      if (cursor !== undefined) throw invalid('cursor', 'cursor is for pages: an answer of lines has everything.')
      return { type: 'application/x-ndjson; charset=utf-8', parts: () => everything(sql, asked, shown) }
    }
    const pages = ['audit', JSON.stringify(asked)]
    const after = cursor === undefined ? undefined : cursors.open(pages, cursor).id
    const entries = await listEntries(sql, asked, after, limit + 1)
    const page = entries.slice(0, limit)
    const last = entries.length > limit ? page.at(-1) : undefined
    const nextCursor = last ? cursors.seal(pages, { key: 0n, id: last.n }) : null
    return { body: { items: page.map(shown), nextCursor } }
  }),
]

/** A connection is held for a page at a time, never while the client reads. */
async function* everything(sql: Sql, asked: Asked, shown: (entry: Entry) => EntryShown): AsyncGenerator<string> {
  for (let after: number | undefined; ;) {
    const entries = await listEntries(sql, asked, after, limits.auditPage)
    yield entries.map((entry) => `${JSON.stringify(shown(entry))}\n`).join('')
    if (entries.length < limits.auditPage) return
    after = entries.at(-1)?.n
  }
}

function logOf(caller: Caller, tenant: string | undefined): string | null {
  if (caller.isOwner) return tenant ?? null
  if (tenant === undefined || tenant === caller.tenant) return caller.tenant
  throw new QuickLinkError('forbidden', "Only the owner may ask for what is another tenant's.")
}

function present(names: Names, reader: Caller, entry: Entry): EntryShown {
  const { kind, target, changes } = entry
  const { code, domain } = kind === 'link' ? names.shown(target as Code) : { code: target, domain: null }
  // Where the owner sits is no tenant's business.
  const mayKnow = reader.isOwner || entry.byKind !== 'owner'
  return {
    id: entry.id,
    at: entry.at.toISOString(),
    action: entry.action,
    tenant: entry.tenant,
    target: { kind, id: code, domain },
    by: {
      kind: entry.byKind,
      id: entry.byId,
      name: entry.byName,
      tenant: entry.byTenant,
      sessionId: mayKnow ? entry.sessionId : null,
    },
    address: mayKnow ? entry.address : null,
    changes: changes ?? null,
  }
}
