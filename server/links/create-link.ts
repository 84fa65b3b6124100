// The steps of a create. What is acknowledged is committed; what is committed is announced, first of all to this process.
//
//   1  Redis     a unit of this hour's creates, and of all tenants' together; a place in the tenant's quota
//   2  Postgres  claim the Idempotency-Key, lock the tenant, count its links if there may be no room, insert
//   3  Postgres  remember the answer, commit
//   4  Redis     announce the link
//
// Each is one round trip, whatever it asks; Postgres has the last word on the place. Attempts count, not successes: what came to
// nothing goes back, unless it failed by its caller's doing (rate-limit.ts).
import type { By } from '../api/operation.ts'
import { changesOf } from '../audit/changes.ts'
import { note } from '../audit/store.ts'
import { limits } from '../limits.ts'
import { withDeadline } from '../connections/deadline.ts'
import { sqlState, type Sql } from '../connections/postgres.ts'
import { QuickLinkError, unavailable } from '../errors.ts'
import { mayUseDomain } from '../domains/store.ts'
import { codeAt, type Code } from '../link.ts'
import { countLinks, countTowards, lockTenant, recount, takesOver } from '../quotas/quota-store.ts'
import { linkLimit, type Place } from '../quotas/tenant-quota.ts'
import { settle, unitOf, type Unit } from '../rates/rate-limit.ts'
import { mustLookAgain } from './adopt.ts'
import { announce, type WriteDeps } from './change-link.ts'
import { claimKey, earlierAnswer, rememberAnswer, usedForAnother, type IdempotencyKey } from './idempotency.ts'
import type { LinkShown } from './shown.ts'
import type { Mint } from './shortcode.ts'
import { mustBeNone, type PlainTerms } from './reuse.ts'
import { drawCounter, insertCustom, insertGenerated, type LinkRow, type NewLink } from './store.ts'
import { ensureTags, haveAll } from './tags.ts'

export interface Minting {
  readonly mint: Mint
  readonly saltGeneration: number
  /** When this was found out, and its files compared with what is known of them. */
  readonly postgresRunningSince: string
  /** Counters that nobody has used yet: each create draws one for a later one, so that none waits for it. */
  readonly counters: number[]
}

/** What codes are minted with; `prepare` finds it out anew, after a restore or a restart of Postgres. */
export interface Preparation {
  current(): Minting
  prepare(goneBack?: string): Promise<Minting>
}

export interface CreateRequest {
  readonly link: NewLink
  readonly code: Code | undefined
  /** Where: a further domain's host, or null. */
  readonly domain: string | null
  readonly password?: string | undefined
  /** onExisting=return: only if there is none on these terms. */
  readonly unlessThere?: PlainTerms | undefined
  readonly idempotencyKey: IdempotencyKey | undefined
  /** For the audit log; undefined: whoever asks writes there himself. */
  readonly by: By | undefined
  /** What the caller is answered; kept with the idempotency key. */
  readonly present: (row: LinkRow) => LinkShown
}

interface Admitted {
  readonly unit: Unit
  readonly place: Place
  /** null: its tier has none. */
  readonly limit: number | null
}

interface Created {
  /** undefined: an earlier request with the same key has created it. */
  readonly row: LinkRow | undefined
  readonly answer: LinkShown
  /** It is one link more than before. */
  readonly isOneMore: boolean
}

export async function createLink(deps: WriteDeps, request: CreateRequest): Promise<LinkShown> {
  const { tenant } = request.link
  let admitted: Admitted
  try {
    admitted = await admit(deps, request)
  } catch (refusal) {
    // Who asks again for what was created needs no place of its own.
    const answer = await earlier(deps, request)
    if (answer === undefined) throw refusal
    return answer
  }
  const { unit, place } = admitted
  const asOf = deps.announcer.asOf()
  try {
    const { row, answer, isOneMore } = await inTransaction(deps, await withHash(deps, request), admitted)
    if (row) await announce(deps, row, asOf)
    else await unit.giveBack()
    await deps.quota.settle(tenant, place, isOneMore)
    return answer
  } catch (error) {
    await Promise.all([deps.quota.settle(tenant, place, false), settle(unit, error)])
    throw error
  }
}

/** Hashed only for whom there is room: it is dear. */
async function withHash(deps: WriteDeps, request: CreateRequest): Promise<CreateRequest> {
  const { link, password } = request
  if (password === undefined) return request
  const passwordHash = await deps.hasher.hash(password)
  return { ...request, link: { ...link, special: { rules: [], passwordHash } } }
}

const earlier = async (deps: WriteDeps, { link, idempotencyKey }: CreateRequest): Promise<LinkShown | undefined> =>
  idempotencyKey && ((await earlierAnswer(deps.db, link.tenant, idempotencyKey)) as LinkShown | undefined)

async function admit(deps: WriteDeps, { link, code }: CreateRequest): Promise<Admitted> {
  const { directory, rateLimit, quota, tiers } = deps
  const tenant = await directory.get(link.tenant)
  const limit = linkLimit(tiers, tenant)
  const [acquired, place] = await Promise.all([
    rateLimit.tryAcquire(tenant),
    limit === null ? nowhere() : quota.reserve(tenant.id),
  ])
  if (!acquired.granted) await quota.settle(tenant.id, place, false)
  const unit = unitOf(acquired, 'creates', limits.createWindowS)
  try {
    // A custom code may take over one of the tenant's own that has expired: that needs no further place.
    if (limit !== null && code === undefined) await quota.heed(tenant.id, limit, place)
    // Where Redis has not said that there is room, those who find none need not queue for the lock to learn it.
    if (limit !== null && code === undefined && place.generation === undefined) {
      const used = await countTowards(deps.db, tenant.id, limit)
      if (used >= limit) throw quota.exceeded(used, limit)
    }
  } catch (error) {
    await settle(unit, error)
    throw error
  }
  return { unit, place, limit }
}

export const nowhere = (): Place => ({ generation: undefined, refusal: undefined, isAstray: false })

async function inTransaction(deps: WriteDeps, request: CreateRequest, admitted: Admitted): Promise<Created> {
  return minted(
    deps,
    (sql, minting) => insert(deps, sql, request, admitted, minting),
    async () => {
      const answer = await earlier(deps, request)
      return answer && { row: undefined, answer, isOneMore: false }
    },
  )
}

/** A transaction that makes links. `repeated`: what was answered before to the same request under its key. */
export async function minted<T>(
  deps: WriteDeps,
  work: (sql: Sql, minting: Minting) => Promise<T>,
  repeated: () => Promise<T | undefined>,
): Promise<T> {
  const create = (minting: Minting): Promise<T> => deps.db.transaction((sql) => work(sql, minting))
  try {
    return await create(deps.preparation.current())
  } catch (error) {
    if (error instanceof LookAgain) return await create(await prepared(deps))
    // The insert is asked for before it is known whether there is a tenant: all that its row refers to.
    if (sqlState(error) === foreignKeyViolation) throw tenantIsGone()
    if (!(error instanceof Repeated)) throw error
    const answer = await repeated()
    if (answer === undefined) throw usedForAnother()
    return answer
  }
}

async function insert(
  deps: WriteDeps,
  sql: Sql,
  { link, code, domain, unlessThere, idempotencyKey, by, present }: CreateRequest,
  { place, limit }: Admitted,
  minting: Minting,
): Promise<Created> {
  const { tenant } = link
  const draft = code === undefined ? await mintNext(sql, minting, domain) : undefined
  if (link.tags.length > 0) void ensureTags(sql, tenant, link.tags)
  if (unlessThere) await mustBeNone(sql, tenant, unlessThere, { url: link.url, domain })
  // Asked at once, answered one after the other: each sees what those before have done. A refusal rolls all of it back.
  const [isOurs, lookAgain, mayUse, terms, counted, hasPlace, inserted, counter] = await Promise.all([
    idempotencyKey === undefined || claimKey(sql, tenant, idempotencyKey),
    mustLookAgain(sql, minting.postgresRunningSince),
    domain === null || mayUseDomain(sql, domain, tenant),
    // The stronger lock only where there is a limit, so that others do not queue.
    lockTenant(sql, tenant, limit !== null),
    limit === null ? undefined : recount(sql, tenant, limit),
    limit !== null && takesOver(sql, tenant, code),
    draft ? insertGenerated(sql, link, draft) : insertCustom(sql, link, code!),
    draft && drawCounter(sql),
  ])
  if (counter !== undefined) minting.counters.push(counter)
  if (!isOurs) throw new Repeated()
  if (lookAgain) throw new LookAgain()
  if (!terms) throw tenantIsGone()
  if (!mayUse) throw noPlaceAt(domain!)
  const row = inserted ?? (code === undefined ? await insertAnother(sql, link, minting, domain) : undefined)
  if (!row) throw taken(code!)
  haveAll(link.tags, row.tags)
  const limitNow = linkLimit(deps.tiers, terms)
  if (limitNow !== null) {
    const before = limit === limitNow ? (counted ?? terms.linksAtMost ?? 0) : await countOthers(sql, tenant)
    if (before >= limitNow && !hasPlace) {
      place.isAstray = place.generation !== undefined
      throw deps.quota.exceeded(before, limitNow)
    }
    if (!hasPlace) await deps.quota.countIn(tenant, place, terms.generation)
  }
  const answer = present(row)
  if (by) note(sql, by, { tenant, kind: 'link', target: row.code, changes: changesOf({ after: answer }) })
  // Whoever waits for the commit waits for this, too.
  if (idempotencyKey) void rememberAnswer(sql, tenant, idempotencyKey, row, answer)
  return { row, answer, isOneMore: !hasPlace }
}

interface Draft {
  readonly code: Code
  readonly counter: number
  readonly saltGeneration: number
}

/** A counter whose code is a reserved word is skipped. */
export async function mintNext(
  sql: Sql,
  { mint, counters, saltGeneration }: Minting,
  domain: string | null,
): Promise<Draft> {
  for (let attempt = 0; attempt < limits.mintAttempts; attempt++) {
    const counter = counters.shift() ?? (await drawCounter(sql))
    const code = mint(counter)
    if (code !== undefined) return { code: codeAt(domain, code), counter, saltGeneration }
  }
  throw noFreeCode()
}

/** A counter whose code was taken is skipped as well. */
export async function insertAnother(
  sql: Sql,
  link: NewLink,
  minting: Minting,
  domain: string | null,
): Promise<LinkRow> {
  for (let attempt = 1; attempt < limits.mintAttempts; attempt++) {
    const row = await insertGenerated(sql, link, await mintNext(sql, minting, domain))
    if (row) return row
  }
  throw noFreeCode()
}

/** Of a tenant that has got another limit a moment ago: its links but for the one that is being made. */
async function countOthers(sql: Sql, tenant: string): Promise<number> {
  await lockTenant(sql, tenant, true)
  return (await countLinks(sql, tenant)) - 1
}

const foreignKeyViolation = '23503'
export const tenantIsGone = (): QuickLinkError => new QuickLinkError('forbidden', 'This tenant has been deleted.')

export const noPlaceAt = (domain: string): QuickLinkError =>
  new QuickLinkError('forbidden', `This tenant may not make links at ${domain}: the owner can allow it.`, {
    members: { field: 'domain' },
  })

const noFreeCode = (): QuickLinkError =>
  new QuickLinkError('unavailable', 'No free code was found: try again.', { retryAfterS: 1 })

export const taken = (code: Code): QuickLinkError =>
  new QuickLinkError('conflict', `The code ${code} is taken: choose another one.`, { members: { field: 'code' } })

/** An earlier request has this Idempotency-Key. */
export class Repeated extends Error {
  override readonly name = 'Repeated'
}

/** Found before anything that was minted is committed: the codes handed out since a copy was made are not known in it. */
export class LookAgain extends QuickLinkError {
  constructor() {
    super('unavailable', 'The database is being prepared: try again soon.', { retryAfterS: 1 })
  }
}

async function prepared(deps: WriteDeps): Promise<Minting> {
  try {
    return await withDeadline(deps.preparation.prepare(), deps.prepareMs, 'preparing the database')
  } catch (error) {
    throw unavailable('The database is being prepared: try again soon.', error)
  }
}
