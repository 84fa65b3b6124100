// The steps of a change and of a delete. What is acknowledged is committed; what is committed is announced, first of all to
// this process.
import type { Announcer, AsOf } from '../coherence/announce.ts'
import { limits } from '../config.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import type { Code, Version } from '../link.ts'
import { lockTenantOf } from '../quotas/quota-store.ts'
import { linkLimit, type TenantQuota } from '../quotas/tenant-quota.ts'
import { settle, unitOf, type RateLimit } from '../rates/rate-limit.ts'
import type { Directory } from '../tenants/directory.ts'
import type { Tiers } from '../tenants/tiers.ts'
import type { Preparation } from './create-link.ts'
import {
  deleteLink as deleteRow,
  patchLink,
  readLink,
  toKnown,
  type LinkPatch,
  type LinkRow,
  type Scope,
} from './store.ts'

/** What may be written: who may create or change how much, and what a tenant has agreed to. */
export interface Admission {
  readonly directory: Directory
  readonly tiers: Tiers
  readonly rateLimit: RateLimit
  readonly quota: TenantQuota
}

export interface WriteDeps extends Admission {
  readonly db: Postgres
  readonly preparation: Preparation
  readonly announcer: Announcer
  /** How long a request waits for a restored database to be adopted. */
  readonly prepareMs: number
}

/** A unit of the changes of this tenant, whose key it is; throws where there is none. */
export async function asChange<T>(deps: Admission, tenant: string, work: () => Promise<T>): Promise<T> {
  const { directory, rateLimit } = deps
  const unit = unitOf(await rateLimit.tryChange(await directory.get(tenant)), 'changes', limits.createWindowS)
  try {
    return await work()
  } catch (error) {
    await settle(unit, error)
    throw error
  }
}

/** Which link: its code, whose it must be, and the versions of which it must have one. */
export interface Target {
  readonly code: Code
  readonly scope: Scope
  readonly versions: readonly Version[] | undefined
}

export const changeLink = (deps: WriteDeps, target: Target, patch: LinkPatch): Promise<LinkRow> =>
  writeExisting(deps, target, (sql) => patchLink(sql, target.code, target.scope, patch, target.versions))

/** Its place is free again: Redis hears of it, in the generation that the tenant has. */
export async function deleteLink(deps: WriteDeps, target: Target): Promise<void> {
  const { code, scope, versions } = target
  let owner: Awaited<ReturnType<typeof lockTenantOf>>
  await writeExisting(deps, target, async (sql) => {
    const [locked, gone] = await Promise.all([lockTenantOf(sql, code, scope), deleteRow(sql, code, scope, versions)])
    owner = locked
    return gone
  })
  if (owner && linkLimit(deps.tiers, owner) !== null) await deps.quota.refund(owner.id, owner.generation)
}

async function writeExisting(
  deps: WriteDeps,
  { code, scope, versions }: Target,
  write: (sql: Sql) => Promise<LinkRow | undefined>,
): Promise<LinkRow> {
  const asOf = deps.announcer.asOf()
  const row = await deps.db.transaction(write)
  if (!row) {
    if (versions && (await readLink(deps.db, code, scope))) throw hasChanged()
    throw new QuickLinkError('not_found', `There is no link ${code}.`)
  }
  await announce(deps, row, asOf)
  return row
}

const hasChanged = (): QuickLinkError =>
  new QuickLinkError('precondition_failed', 'The link is not as your If-Match says: read it again, then change it.', {
    members: { field: 'If-Match' },
  })

/** What is committed is acknowledged, whatever becomes of the announcement: the relay pass finds the change. */
export const announce = (deps: WriteDeps, row: LinkRow, asOf: AsOf): Promise<void> =>
  deps.announcer.announce(row.code, toKnown(row), asOf).catch(() => undefined)
