// Many links changed or deleted at once: one transaction, each link with its own result. What a change means is in change-link.ts, and the
// same for one. Links are locked in the order of their codes, so that two that mean the same links wait for each other, and nobody is refused for it.
import type { By } from '../api/operation.ts'
import { limits } from '../limits.ts'
import { sqlState, type Sql } from '../connections/postgres.ts'
import { invalid, QuickLinkError } from '../errors.ts'
import type { Code } from '../link.ts'
import { lockTenantsOf } from '../quotas/quota-store.ts'
import { linkLimit } from '../quotas/tenant-quota.ts'
import type { Tier } from '../tenants/tiers.ts'
import {
  announceAll,
  changeIn,
  deleteIn,
  hashOf,
  hasChanged,
  hasTerms,
  isNoticed,
  noLink,
  onTerms,
  tierOf,
  type ChangeContext,
  type LinkChange,
  type WriteDeps,
} from './change-link.ts'
import type { Revised } from './etag.ts'
import { readManyLocked } from './store-many.ts'
import type { LinkCore, LinkRow, Scope } from './store.ts'
import { eachOnce, ensureTags, haveAll, keyOf, keysOf, knownTags } from './tags.ts'

/** Which: their codes, whose they must be, and where it is said, the state of which each must be. */
export interface Targets {
  readonly codes: readonly Code[]
  readonly scope: Scope
  readonly states?: ReadonlyMap<Code, Revised> | undefined
}

export interface BulkChange extends LinkChange {
  readonly addTags?: readonly string[] | undefined
  readonly removeTags?: readonly string[] | undefined
}

/** Of each link that is meant: as it is now, or why nothing was done to it. */
type Outcomes<Row> = ReadonlyMap<Code, Row | QuickLinkError>

/** What its caller may know of is the result of one; anything else ends all. */
async function outcome<T>(work: () => Promise<T> | T): Promise<T | QuickLinkError> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof QuickLinkError) return error
    throw error
  }
}

const sorted = (codes: Iterable<Code>): Code[] => [...new Set(codes)].sort()

/** A conflict of locks with somebody who keeps to no order, or a hand in psql: what it was for is begun anew. */
export async function unentangled<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (sqlState(error) !== deadlock || tries === limits.bulkTries) throw error
    }
  }
}
const deadlock = '40P01'

export async function changeLinks(
  deps: WriteDeps,
  targets: Targets,
  change: BulkChange,
  context: ChangeContext,
): Promise<Outcomes<LinkRow>> {
  const passwordHash = await hashOf(deps, change)
  const asOf = deps.announcer.asOf()
  const outcomes = await unentangled(() =>
    deps.db.transaction(async (sql) => {
      const found = await lock(sql, targets, tagsNew(change))
      const prepare = await preparation(deps, sql, [...found.values()], change)
      return eachOf(targets, found, async (row) => {
        const target = { code: row.code, scope: targets.scope, states: undefined }
        const changed = await changeIn(sql, target, prepare(row), { ...context, passwordHash })
        if (!changed) throw noLink(row.code)
        return changed
      })
    }),
  )
  if (isNoticed(change)) await announceAll(deps, rowsIn(outcomes), asOf)
  return outcomes
}

export async function deleteLinks(deps: WriteDeps, targets: Targets, by: By): Promise<Outcomes<LinkCore>> {
  const asOf = deps.announcer.asOf()
  const { outcomes, owners } = await unentangled(() =>
    deps.db.transaction(async (sql) => {
      const owners = await lockTenantsOf(sql, targets.codes, targets.scope)
      const found = await lock(sql, targets, [])
      const outcomes = await eachOf(targets, found, async ({ code }) => {
        const gone = await deleteIn(sql, { code, scope: targets.scope, states: undefined }, by)
        if (!gone) throw noLink(code)
        return gone
      })
      return { outcomes, owners }
    }),
  )
  const gone = rowsIn(outcomes)
  await announceAll(deps, gone, asOf)
  for (const owner of owners) {
    const places = gone.filter(({ tenant }) => tenant === owner.id).length
    if (places > 0 && linkLimit(deps.tiers, owner) !== null) {
      await deps.quota.refund(owner.id, owner.generation, places)
    }
  }
  return outcomes
}

const rowsIn = <Row extends LinkCore>(outcomes: Outcomes<Row>): Row[] =>
  [...outcomes.values()].filter((outcome) => !(outcome instanceof QuickLinkError)) as Row[]

/** Some at a time: a statement's time to be answered begins when it is asked for. */
async function eachOf<Row>(
  { codes, states }: Targets,
  found: ReadonlyMap<Code, LinkRow>,
  work: (row: LinkRow) => Promise<Row>,
): Promise<Outcomes<Row>> {
  const one = async (code: Code): Promise<readonly [Code, Row | QuickLinkError]> => {
    const row = found.get(code)
    const wanted = states?.get(code)
    const isOther = row && wanted && (wanted.version !== row.version || wanted.revision !== row.revision)
    const result = outcome(() => {
      if (!row) throw noLink(code)
      if (isOther) throw hasChanged()
      return work(row)
    })
    return [code, await result]
  }
  return new Map(await inSteps(sorted(codes), one))
}

export async function inSteps<T, Result>(
  all: readonly T[],
  work: (one: T) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (let at = 0; at < all.length; at += limits.bulkStep) {
    results.push(...(await Promise.all(all.slice(at, at + limits.bulkStep).map(work))))
  }
  return results
}

/** Tags come before links, as wherever both are written; for no link none are made, and there may be no such tenant. */
async function lock(sql: Sql, { codes, scope }: Targets, tags: readonly string[]): Promise<Map<Code, LinkRow>> {
  if (tags.length > 0 && codes.length > 0) {
    const owners = scope === null ? await lockTenantsOf(sql, codes, scope) : [{ id: scope }]
    for (const { id } of owners) await ensureTags(sql, id, tags)
  }
  const rows = await readManyLocked(sql, codes, scope)
  return new Map(rows.map((row) => [row.code, row]))
}

const tagsNew = ({ tags = [], addTags = [] }: BulkChange): readonly string[] => eachOnce([...tags, ...addTags])

/** What the change means for each of these, on the terms of its tenant. Throws what is to be said of that one. */
async function preparation(deps: WriteDeps, sql: Sql, rows: readonly LinkRow[], change: BulkChange) {
  const { addTags, removeTags, ...given } = change
  const tenants = [...new Set(rows.map(({ tenant }) => tenant))]
  const terms = new Map<string, Tier>()
  if (hasTerms(given)) for (const tenant of tenants) terms.set(tenant, await tierOf(deps, tenant))
  const wanted = tagsNew(change)
  const known = new Map<string, Set<string>>()
  if (wanted.length > 0) for (const tenant of tenants) known.set(tenant, await knownTags(sql, tenant, wanted))
  return (row: LinkRow): LinkChange => {
    const tier = terms.get(row.tenant)
    const patch = tier ? onTerms(tier, row, given) : given
    haveAll(wanted, [...(known.get(row.tenant) ?? [])])
    if (!addTags && !removeTags) return patch
    const without = new Set(keysOf(removeTags ?? []))
    const tags = eachOnce([...(given.tags ?? row.tags), ...(addTags ?? [])]).filter((tag) => !without.has(keyOf(tag)))
    if (tags.length > limits.tagsPerLink) {
      throw invalid('addTags', `addTags would give this link more than ${limits.tagsPerLink} tags: take some off.`)
    }
    return { ...patch, tags }
  }
}
