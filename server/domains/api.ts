// Domains, which the owner makes.
import { route, type Route } from '../api/operation.ts'
import { changesOf, type Changes } from '../audit/changes.ts'
import { note, type Noted } from '../audit/store.ts'
import { limits } from '../limits.ts'
import { pause } from '../connections/deadline.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { invalid, QuickLinkError } from '../errors.ts'
import { hostSaid } from './host.ts'
import type { Names } from './names.ts'
import * as operations from './operations.ts'
import type { DomainShown } from './operations.ts'
import {
  insertDomain,
  listDomains,
  lockDomain,
  NoSuchTenant,
  patchDomain,
  readDomain,
  removeDomain,
  type DomainRow,
} from './store.ts'

export interface DomainsApiDeps {
  readonly sql: Postgres
  readonly names: Names
  /** By then every process has heard of it, or vouches for nothing. */
  readonly heardMs: number
  /** A target as it may be stored; `ours` are hosts that it must not lead to. */
  readonly parseTarget: (text: string, ours: readonly string[], field: string) => string
}

export const domainRoutes = ({ sql, names, heardMs, parseTarget }: DomainsApiDeps): Route[] => {
  const targets = (
    host: string,
    body: { rootUrl?: string | null | undefined; notFoundUrl?: string | null | undefined },
  ) => {
    const ours = [...names.hosts(), host]
    const parsed = (field: 'rootUrl' | 'notFoundUrl'): string | null | undefined => {
      const text = body[field]
      return typeof text === 'string' ? parseTarget(text, ours, field) : text
    }
    return { rootUrl: parsed('rootUrl'), notFoundUrl: parsed('notFoundUrl') }
  }
  return [
    route(operations.create, async ({ by, body: { host, tenants = [], ...rest } }) => {
      if (host === hostSaid(names.hosts()[0] ?? '')) {
        throw invalid('host', 'host is that of PUBLIC_URL, which is the default domain: choose another one.')
      }
      const { rootUrl = null, notFoundUrl = null } = targets(host, rest)
      const given = { host, tenants, rootUrl, notFoundUrl }
      const outcome = await inTransaction(sql, async (sql) => {
        const outcome = await insertDomain(sql, given)
        if (outcome === 'made') note(sql, by, ofDomain(host, changesOf({ after: given })))
        return outcome
      })
      if (outcome === 'taken') throw conflict(`There is a domain ${host}: change it, or remove it first.`)
      if (outcome === 'full') {
        throw conflict(`There are ${limits.domains} domains, with those that were removed: there cannot be more.`)
      }
      // A process that had not heard would answer its host with links of the default domain.
      await pause(heardMs)
      return { body: present(await existing(sql, host)), headers: { Location: `/api/v1/domains/${host}` } }
    }),
    route(operations.list, async () => ({ body: { items: (await listDomains(sql)).map(present) } })),
    route(operations.read, async ({ params: { host } }) => ({ body: present(await existing(sql, host)) })),
    route(operations.change, async ({ by, params: { host }, body: { tenants, ...rest } }) => {
      const patch = { ...targets(host, rest), ...(tenants && { tenants }) }
      const body = await inTransaction(sql, async (sql) => {
        const was = await lockDomain(sql, host)
        if (!was || !(await patchDomain(sql, host, patch))) throw noDomain(host)
        const after = present(await existing(sql, host))
        note(sql, by, ofDomain(host, changesOf({ before: present(was), after })))
        return after
      })
      return { body }
    }),
    route(operations.remove, async ({ by, params: { host } }) => {
      const outcome = await sql.transaction(async (sql) => {
        const outcome = await removeDomain(sql, host)
        if (outcome === 'removed') note(sql, by, ofDomain(host))
        return outcome
      })
      if (outcome === 'unknown') throw noDomain(host)
      if (outcome === 'has_links') throw conflict(`The domain ${host} has links: delete them first.`)
      return undefined
    }),
  ]
}

/** They are the owner's. */
const ofDomain = (host: string, changes?: Changes): Noted => ({
  tenant: 'owner',
  kind: 'domain',
  target: host,
  changes,
})

async function inTransaction<T>(db: Postgres, work: (sql: Sql) => Promise<T>): Promise<T> {
  try {
    return await db.transaction(work)
  } catch (error) {
    if (error instanceof NoSuchTenant) throw invalid('tenants', 'tenants must all be ids of tenants that exist.')
    throw error
  }
}

async function existing(sql: Sql, host: string): Promise<DomainRow> {
  const row = await readDomain(sql, host)
  if (!row) throw noDomain(host)
  return row
}

const conflict = (message: string): QuickLinkError =>
  new QuickLinkError('conflict', message, { members: { field: 'host' } })
const noDomain = (host: string): QuickLinkError => new QuickLinkError('not_found', `There is no domain ${host}.`)

const present = (row: DomainRow): DomainShown => ({
  host: row.host,
  tenants: [...row.tenants],
  rootUrl: row.rootUrl,
  notFoundUrl: row.notFoundUrl,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})
