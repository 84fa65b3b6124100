// The steps of a change and of a delete. What is acknowledged is committed; what is committed is announced, first of all to
// this process.
import type { By } from '../api/operation.ts'
import { changesOf } from '../audit/changes.ts'
import { note } from '../audit/store.ts'
import type { Announcer, AsOf } from '../coherence/announce.ts'
import { limits } from '../config.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import type { Code } from '../link.ts'
import { lockTenantOf } from '../quotas/quota-store.ts'
import { linkLimit, type TenantQuota } from '../quotas/tenant-quota.ts'
import { settle, unitOf, type RateLimit } from '../rates/rate-limit.ts'
import type { Hasher } from '../passwords/hasher.ts'
import type { Directory } from '../tenants/directory.ts'
import type { Tiers } from '../tenants/tiers.ts'
import type { Preparation } from './create-link.ts'
import type { Revised } from './etag.ts'
import { keepSecret, leadAfter, patchOf, shownOf, type SpecialAsked } from './special.ts'
import {
  changesCore,
  deleteLink as deleteRow,
  patchLink,
  readLink,
  readLocked,
  toKnown,
  type LinkCore,
  type LinkPatch,
  type LinkRow,
  type Scope,
} from './store.ts'
import { ensureTags, haveAll } from './tags.ts'

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
  readonly hasher: Hasher
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

/** Which link: its code, whose it must be, and the states of which it must be in one. */
export interface Target {
  readonly code: Code
  readonly scope: Scope
  readonly states: readonly Revised[] | undefined
}

export type LinkChange = Omit<LinkPatch, 'rules' | 'hasPassword'> & SpecialAsked

interface ChangeContext {
  /** Whose link it is, where it is given tags. */
  readonly tenant: string
  readonly by: By
  /** As the log has it. */
  readonly present: (row: LinkRow) => object
}

/** What no redirect depends on is announced to nobody. */
export async function changeLink(
  deps: WriteDeps,
  target: Target,
  patch: LinkChange,
  { tenant, by, present }: ChangeContext,
): Promise<LinkRow> {
  const { code, scope, states } = target
  const { tags, password } = patch
  const passwordHash = typeof password === 'string' ? await deps.hasher.hash(password) : password
  const write = async (sql: Sql): Promise<LinkRow | undefined> => {
    if (tags) void ensureTags(sql, tenant, tags)
    const wasAsked = readLocked(sql, code, scope)
    // Who waits for it comes later, or never.
    wasAsked.catch(() => undefined)
    const lead = await leadAfter(sql, target, { ...patch, passwordHash })
    if (lead === 'no link') return undefined
    const changed = lead === 'same' ? patch : { ...patch, ...patchOf(lead) }
    const row = await patchLink(sql, code, scope, changed, states)
    if (row && lead !== 'same') await keepSecret(sql, row.id, lead, passwordHash)
    if (row && tags) haveAll(tags, row.tags)
    const was = await wasAsked
    if (row && was) {
      const changes = changesOf({ before: present(was), after: present(row) })
      // That there is another one is all that is said of it.
      const anew = typeof password === 'string' ? { password: {} } : {}
      note(sql, by, { tenant: row.tenant, kind: 'link', target: code, changes: { ...changes, ...anew } })
    }
    return row
  }
  return writeExisting(deps, target, write, changesCore(patch) || password !== undefined)
}

/** Its place is free again: Redis hears of it, in the generation that the tenant has. */
export async function deleteLink(deps: WriteDeps, target: Target, by: By): Promise<void> {
  const { code, scope, states } = target
  let owner: Awaited<ReturnType<typeof lockTenantOf>>
  await writeExisting(
    deps,
    target,
    async (sql) => {
      const [locked, gone] = await Promise.all([lockTenantOf(sql, code, scope), deleteRow(sql, code, scope, states)])
      owner = locked
      if (gone) {
        const changes = changesOf({ before: { url: shownOf(gone).url } })
        note(sql, by, { tenant: gone.tenant, kind: 'link', target: code, changes })
      }
      return gone
    },
    true,
  )
  if (owner && linkLimit(deps.tiers, owner) !== null) await deps.quota.refund(owner.id, owner.generation)
}

async function writeExisting<Row extends LinkCore>(
  deps: WriteDeps,
  { code, scope, states }: Target,
  write: (sql: Sql) => Promise<Row | undefined>,
  isNoticed: boolean,
): Promise<Row> {
  const asOf = deps.announcer.asOf()
  const row = await deps.db.transaction(write)
  if (!row) {
    if (states && (await readLink(deps.db, code, scope))) throw hasChanged()
    throw new QuickLinkError('not_found', `There is no link ${code}.`)
  }
  if (isNoticed) await announce(deps, row, asOf)
  return row
}

const hasChanged = (): QuickLinkError =>
  new QuickLinkError('precondition_failed', 'The link is not as your If-Match says: read it again, then change it.', {
    members: { field: 'If-Match' },
  })

/** What is committed is acknowledged, whatever becomes of the announcement: the relay pass finds the change. */
export const announce = (deps: WriteDeps, row: LinkCore, asOf: AsOf): Promise<void> =>
  deps.announcer.announce(row.code, toKnown(row), asOf).catch(() => undefined)
