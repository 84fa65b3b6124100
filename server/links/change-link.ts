// The steps of a change and of a delete. What is acknowledged is committed; what is committed is announced, first of all to
// this process.
import type { By } from '../api/operation.ts'
import { changesOf } from '../audit/changes.ts'
import { note } from '../audit/store.ts'
import type { Announcer, AsOf } from '../coherence/announce.ts'
import { limits } from '../limits.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import type { Code } from '../link.ts'
import { lockTenantOf } from '../quotas/quota-store.ts'
import { linkLimit, type TenantQuota } from '../quotas/tenant-quota.ts'
import { settle, unitOf, type RateLimit } from '../rates/rate-limit.ts'
import type { Hasher } from '../passwords/hasher.ts'
import type { Directory } from '../tenants/directory.ts'
import type { Tier, Tiers } from '../tenants/tiers.ts'
import type { Preparation } from './create-link.ts'
import type { Revised } from './etag.ts'
import { agreedExpiry, agreedHits, agreedWindow } from './input.ts'
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

export interface ChangeContext {
  readonly by: By
  /** As the log has it. */
  readonly present: (row: LinkRow) => object
}

/** `tenant`: whose link it is, where it is given tags. What no redirect depends on is announced to nobody. */
export async function changeLink(
  deps: WriteDeps,
  target: Target,
  patch: LinkChange,
  { tenant, ...context }: ChangeContext & { readonly tenant: string },
): Promise<LinkRow> {
  const { tags } = patch
  const passwordHash = await hashOf(deps, patch)
  const write = async (sql: Sql): Promise<LinkRow | undefined> => {
    if (tags) void ensureTags(sql, tenant, tags)
    const row = await changeIn(sql, target, patch, { ...context, passwordHash })
    if (row && tags) haveAll(tags, row.tags)
    return row
  }
  return writeExisting(deps, target, write, isNoticed(patch))
}

/** Of the password that a change gives; null: of none. */
export const hashOf = async (deps: WriteDeps, { password }: LinkChange): Promise<string | null | undefined> =>
  typeof password === 'string' ? deps.hasher.hash(password) : password

/** Whether visitors notice. */
export const isNoticed = (change: LinkChange): boolean => changesCore(change) || change.password !== undefined

/** In a transaction, when the tags of the change are known to the tenant. undefined: there is no such link. */
export async function changeIn(
  sql: Sql,
  { code, scope, states }: Target,
  change: LinkChange,
  { passwordHash, by, present }: ChangeContext & { readonly passwordHash: string | null | undefined },
): Promise<LinkRow | undefined> {
  const wasAsked = readLocked(sql, code, scope)
  // Who waits for it comes later, or never.
  wasAsked.catch(() => undefined)
  const lead = await leadAfter(sql, { code, scope }, { ...change, passwordHash })
  if (lead === 'no link') return undefined
  const patch = lead === 'same' ? change : { ...change, ...patchOf(lead) }
  const row = await patchLink(sql, code, scope, patch, states)
  if (row && lead !== 'same') await keepSecret(sql, row.id, lead, passwordHash)
  const was = await wasAsked
  if (row && was) {
    const changes = changesOf({ before: present(was), after: present(row) })
    // That there is another one is all that is said of it.
    const anew = typeof change.password === 'string' ? { password: {} } : {}
    note(sql, by, { tenant: row.tenant, kind: 'link', target: code, changes: { ...changes, ...anew } })
  }
  return row
}

/** Its place is free again: Redis hears of it, in the generation that the tenant has. */
export async function deleteLink(deps: WriteDeps, target: Target, by: By): Promise<void> {
  const { code, scope } = target
  let owner: Awaited<ReturnType<typeof lockTenantOf>>
  await writeExisting(
    deps,
    target,
    async (sql) => {
      const [locked, gone] = await Promise.all([lockTenantOf(sql, code, scope), deleteIn(sql, target, by)])
      owner = locked
      return gone
    },
    true,
  )
  if (owner && linkLimit(deps.tiers, owner) !== null) await deps.quota.refund(owner.id, owner.generation)
}

/** In a transaction that holds off syncs of its tenant. undefined: there is no such link. */
export async function deleteIn(sql: Sql, { code, scope, states }: Target, by: By): Promise<LinkCore | undefined> {
  const gone = await deleteRow(sql, code, scope, states)
  if (!gone) return undefined
  const changes = changesOf({ before: { url: shownOf(gone).url } })
  note(sql, by, { tenant: gone.tenant, kind: 'link', target: code, changes })
  return gone
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
    throw noLink(code)
  }
  if (isNoticed) await announce(deps, row, asOf)
  return row
}

export const noLink = (code: string): QuickLinkError => new QuickLinkError('not_found', `There is no link ${code}.`)

export const hasChanged = (): QuickLinkError =>
  new QuickLinkError('precondition_failed', 'The link is not as your If-Match says: read it again, then change it.', {
    members: { field: 'If-Match' },
  })

/** The same of many. */
export const announceAll = (deps: WriteDeps, rows: readonly LinkCore[], asOf: AsOf): Promise<void> =>
  deps.announcer
    .announceAll(
      rows.map((row) => ({ code: row.code, known: toKnown(row) })),
      asOf,
    )
    .catch(() => undefined)

/** What is committed is acknowledged, whatever becomes of the announcement: the relay pass finds the change. */
export const announce = (deps: WriteDeps, row: LinkCore, asOf: AsOf): Promise<void> =>
  deps.announcer.announce(row.code, toKnown(row), asOf).catch(() => undefined)

/** What its tier promises of a link. */
export const tierOf = async ({ tiers, directory }: Admission, tenant: string): Promise<Tier> =>
  tiers[(await directory.get(tenant)).tier]

/** Whether a change has to be held to the terms of the link's tenant. */
export const hasTerms = ({ startsAt, expiresAt, monthlyHits }: LinkChange): boolean =>
  startsAt !== undefined || expiresAt !== undefined || monthlyHits !== undefined

/** What is said of this link, on the terms of its tenant, whoever says it. */
export function onTerms(terms: Tier, link: Pick<LinkCore, 'startsAt' | 'expiresAt'>, given: LinkChange): LinkChange {
  const { startsAt, expiresAt, monthlyHits } = given
  const patch = {
    ...given,
    ...(expiresAt === undefined ? {} : { expiresAt: agreedExpiry(terms, expiresAt, Date.now()) }),
    ...(monthlyHits === undefined ? {} : { monthlyHits: agreedHits(terms, monthlyHits) }),
  }
  if (startsAt !== undefined || expiresAt !== undefined) {
    const { startsAt: begins = link.startsAt, expiresAt: ends = link.expiresAt } = patch
    agreedWindow(begins, ends)
  }
  return patch
}
