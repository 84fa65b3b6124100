// Many links made at once: as so many creates, one after the other, in one transaction. What a create is, is in create-link.ts. Each link has its own
// result, and what is refused is no reason to refuse the others: as many as the hour has left are tried, the first ones, and as many
// as the tenant has places for are made.
import type { By } from '../api/operation.ts'
import { changesOf } from '../audit/changes.ts'
import { note } from '../audit/store.ts'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { mayUseDomain } from '../domains/store.ts'
import { QuickLinkError } from '../errors.ts'
import type { Code } from '../link.ts'
import { lockTenant, recount } from '../quotas/quota-store.ts'
import { linkLimit, type Place } from '../quotas/tenant-quota.ts'
import { settle, unitOf, type Unit } from '../rates/rate-limit.ts'
import { mustLookAgain } from './adopt.ts'
import type { NewAsked } from './asked.ts'
import { inSteps, unentangled } from './bulk.ts'
import { announceAll, type WriteDeps } from './change-link.ts'
import {
  insertAnother,
  LookAgain,
  minted,
  mintNext,
  noPlaceAt,
  nowhere,
  Repeated,
  taken,
  tenantIsGone,
  type Minting,
} from './create-link.ts'
import { claimKey, earlierAnswer, rememberAnswer, type IdempotencyKey } from './idempotency.ts'
import { makeAll, reuseIn, type PlainTerms, type Reused } from './reuse.ts'
import { drawCounters, inTheWay } from './store-many.ts'
import { insertCustom, insertGenerated, type LinkRow } from './store.ts'
import { eachOnce, ensureTags, haveAll, keysOf, knownTags } from './tags.ts'

/** In the order in which they are wanted; one that could not be read is refused already. */
type Asked = NewAsked | QuickLinkError

export interface BulkCreate<Answer> {
  readonly tenant: string
  readonly links: readonly Asked[]
  readonly by: By
  /** onExisting=return: only if there is none of them on these terms. */
  readonly unlessThere: PlainTerms | undefined
  readonly idempotencyKey: IdempotencyKey | undefined
  /** What the caller is answered; kept with the idempotency key. */
  readonly present: (results: readonly Reused[]) => Answer
  readonly shown: (row: LinkRow) => object
}

interface Made<Answer> {
  readonly answer: Answer
  /** Undefined: an earlier request with the same key has made them. */
  readonly results: readonly (LinkRow | QuickLinkError)[] | undefined
  /** onExisting=return: so many were there when it was looked again, and needed no unit. */
  readonly there: number
  readonly places: number
}

const isRefused = (one: unknown): one is QuickLinkError => one instanceof QuickLinkError
const readable = (links: readonly Asked[]): NewAsked[] => links.filter((link) => !isRefused(link)) as NewAsked[]

export async function createLinks<Answer>(deps: WriteDeps, request: BulkCreate<Answer>): Promise<Answer> {
  const { tenant, links, idempotencyKey } = request
  const earlier = async (): Promise<Answer | undefined> =>
    idempotencyKey && ((await earlierAnswer(deps.db, tenant, idempotencyKey)) as Answer | undefined)
  // Who asks again needs no room of the hour.
  const before = await earlier()
  if (before !== undefined) return before
  const { unit, units, asked } = await admit(deps, tenant, links)
  const asOf = deps.announcer.asOf()
  const place = nowhere()
  let made: Made<Answer>
  try {
    const hashed = await withHashes(deps, asked)
    made = await unentangled(() =>
      minted(
        deps,
        (sql, minting) => insertAll(deps, sql, { ...request, links: hashed }, place, minting),
        async () => {
          const answer = await earlier()
          return answer === undefined ? undefined : { answer, results: undefined, there: 0, places: 0 }
        },
      ),
    )
  } catch (error) {
    if (!(error instanceof NothingMade)) {
      await settle(unit, error)
      throw error
    }
    made = (error as NothingMade<Answer>).made
  }
  const { results, answer, there, places } = made
  const rows = madeOf(results ?? [])
  await announceAll(deps, rows, asOf)
  if (!results) await unit.giveBack()
  else {
    await unit.giveBack(there)
    await unit.failed(Math.max(0, units - there - rows.length))
  }
  await deps.quota.settle(tenant, place, true, places)
  return answer
}

/** The first of them, as many as this hour has left; the others are told so. */
async function admit(
  deps: WriteDeps,
  tenant: string,
  links: readonly Asked[],
): Promise<{ unit: Unit; units: number; asked: readonly Asked[] }> {
  const wanted = readable(links).length
  const { units, unit, refused } = await deps.rateLimit.acquireMany(await deps.directory.get(tenant), wanted)
  let left = units
  const asked = links.map((link) => {
    if (isRefused(link) || left-- > 0 || !refused) return link
    return refusalOf(() => unitOf(refused, 'creates', limits.createWindowS))
  })
  return { unit, units, asked }
}

function refusalOf(work: () => unknown): QuickLinkError {
  try {
    work()
  } catch (error) {
    if (isRefused(error)) return error
    throw error
  }
  throw new Error('nothing was refused')
}

/** Hashed only for whom there is room: it is dear. */
async function withHashes(deps: WriteDeps, asked: readonly Asked[]): Promise<readonly Asked[]> {
  const hashed: Asked[] = []
  for (const one of asked) {
    if (isRefused(one) || one.password === undefined) hashed.push(one)
    else {
      const passwordHash = await deps.hasher.hash(one.password)
      hashed.push({ ...one, link: { ...one.link, special: { rules: [], passwordHash } } })
    }
  }
  return hashed
}

async function insertAll<Answer>(
  deps: WriteDeps,
  sql: Sql,
  { tenant, links, by, unlessThere, idempotencyKey, present, shown }: BulkCreate<Answer>,
  place: Place,
  minting: Minting,
): Promise<Made<Answer>> {
  const open = readable(links)
  const tags = eachOnce(open.flatMap(({ link }) => link.tags))
  if (tags.length > 0) void ensureTags(sql, tenant, tags)
  const { toMake, whole } = unlessThere ? await reuseIn(sql, tenant, unlessThere, links) : makeAll(links)
  const limit = linkLimit(deps.tiers, await deps.directory.get(tenant))
  const [isOurs, lookAgain, terms] = await Promise.all([
    idempotencyKey === undefined || claimKey(sql, tenant, idempotencyKey),
    mustLookAgain(sql, minting.postgresRunningSince),
    lockTenant(sql, tenant, limit !== null),
  ])
  if (!isOurs) throw new Repeated()
  if (lookAgain) throw new LookAgain()
  if (!terms) throw tenantIsGone()
  const limitNow = linkLimit(deps.tiers, terms)
  if (limitNow !== null && limit === null) await lockTenant(sql, tenant, true)
  const room = limitNow === null ? undefined : { used: (await recount(sql, tenant, null)) ?? 0, limit: limitNow }
  const { chosen, replaced } = await choose(deps, sql, { tenant, links: toMake, tags }, room)
  const results = await insertChosen(sql, chosen, minting)
  const rows = madeOf(results)
  const there = open.length - readable(toMake).length
  const answer = present(whole(results.map((row) => ({ row, isThere: false }))))
  // Of a request that has made nothing, nothing is kept: it may be repeated as it is.
  if (rows.length === 0) throw new NothingMade({ answer, results, there, places: 0 })
  for (const row of rows) {
    note(sql, by, { tenant, kind: 'link', target: row.code, changes: changesOf({ after: shown(row) }) })
  }
  const places = limitNow === null ? 0 : rows.filter(({ code }) => !replaced.has(code)).length
  if (places > 0) await deps.quota.countIn(tenant, place, terms.generation, places)
  if (idempotencyKey) void rememberAnswer(sql, tenant, idempotencyKey, undefined, answer)
  return { answer, results, there, places }
}

const madeOf = (results: readonly (LinkRow | QuickLinkError)[]): LinkRow[] =>
  results.filter((result) => !isRefused(result)) as LinkRow[]

class NothingMade<Answer> extends Error {
  override readonly name = 'NothingMade'
  readonly made: Made<Answer>
  constructor(made: Made<Answer>) {
    super()
    this.made = made
  }
}

interface Room {
  readonly used: number
  readonly limit: number
}

/** Which are tried, in the order given: there is room for them, and nothing is known that stands in their way. */
async function choose(
  deps: WriteDeps,
  sql: Sql,
  { tenant, links, tags }: { tenant: string; links: readonly Asked[]; tags: readonly string[] },
  room: Room | undefined,
): Promise<{ chosen: readonly Asked[]; replaced: ReadonlySet<Code> }> {
  const open = readable(links)
  const domains = [...new Set(open.flatMap(({ domain }) => domain ?? []))].sort()
  const codes = open.flatMap(({ code }) => code ?? [])
  const [known, there, mayUse] = await Promise.all([
    knownTags(sql, tenant, tags),
    inTheWay(sql, tenant, codes),
    Promise.all(domains.map(async (domain) => [domain, await mayUseDomain(sql, domain, tenant)] as const)),
  ])
  const isAllowed = new Map(mayUse)
  const standing = new Map(there.map((row) => [row.code, row]))
  const replaced = new Set(there.filter(({ hasPlace }) => hasPlace).map(({ code }) => code))
  const used = new Set<Code>()
  let places = room?.used ?? 0
  const check = ({ link, code, domain }: NewAsked): void => {
    if (domain !== null && !isAllowed.get(domain)) throw noPlaceAt(domain)
    if (code !== undefined && (used.has(code) || standing.get(code)?.isFree === false)) throw taken(code)
    haveAll(link.tags, keysOf(link.tags).filter((key) => known.has(key))) // prettier-ignore
    if (code !== undefined && replaced.has(code)) return
    if (room && places >= room.limit) throw deps.quota.exceeded(places, room.limit)
    places++
  }
  const chosen = links.map((one) => {
    if (isRefused(one)) return one
    try {
      check(one)
    } catch (error) {
      if (isRefused(error)) return error
      throw error
    }
    if (one.code !== undefined) used.add(one.code)
    return one
  })
  return { chosen, replaced }
}

/** In the order of their codes. */
async function insertChosen(
  sql: Sql,
  chosen: readonly Asked[],
  shared: Minting,
): Promise<readonly (LinkRow | QuickLinkError)[]> {
  const minting = { ...shared, counters: await drawCounters(sql, readable(chosen).filter(({ code }) => code === undefined).length) } // prettier-ignore
  const drafts = []
  for (const [n, one] of chosen.entries()) {
    if (isRefused(one)) continue
    const draft = one.code === undefined ? await mintNext(sql, minting, one.domain) : undefined
    drafts.push({ n, one, draft, code: draft?.code ?? one.code! })
  }
  const results: (LinkRow | QuickLinkError | undefined)[] = chosen.map((one) => (isRefused(one) ? one : undefined))
  drafts.sort((a, b) => (a.code < b.code ? -1 : 1))
  await inSteps(drafts, async ({ n, one, draft, code }) => {
    results[n] = await (draft ? insertGenerated(sql, one.link, draft) : insertCustom(sql, one.link, code))
  })
  for (const { n, one, code } of drafts) {
    results[n] ??= one.code === undefined ? await insertAnother(sql, one.link, minting, one.domain) : taken(code)
  }
  return results as (LinkRow | QuickLinkError)[]
}
