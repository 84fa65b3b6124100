// One part of an import, in one transaction: what its rows become, what a person should look at, and that it is done. It is read where
// it waits, in Postgres; only codes, and what becomes of each row, come here.
import type { Sql } from '../connections/postgres.ts'
import { limits } from '../limits.ts'
import { mayUseDomain } from '../domains/store.ts'
import { codeAt, domainOf, type Code } from '../link.ts'
import { mustLookAgain } from '../links/adopt.ts'
import type { Preparation } from '../links/create-link.ts'
import { eachOnce, ensureTags } from '../links/tags.ts'
import { lockTenant, recount } from '../quotas/quota-store.ts'
import { linkLimit, type TenantQuota } from '../quotas/tenant-quota.ts'
import type { Tiers } from '../tenants/tiers.ts'
import { decide, type Candidate, type Decided } from './decide.ts'
import type { ImportRow } from './store.ts'
import { createSql, replaceSql, rowsIn, saidIn } from './write-sql.ts'

export interface PartDeps {
  readonly tiers: Tiers
  readonly quota: TenantQuota
  readonly preparation: Preparation
}

/** What is known of the import when its row is locked. */
export type Job = Pick<ImportRow, 'id' | 'tenant' | 'onConflict' | 'dryRun' | 'created'>

export interface Outcome extends Pick<ImportRow, 'created' | 'replaced' | 'skipped' | 'refused' | 'warned'> {
  readonly failure: string | null
}

const nothing = { created: 0, replaced: 0, skipped: 0, refused: 0, warned: 0, failure: null }

/** What a part says of a row, as far as it is decided by. */
interface Said extends Pick<Candidate, 'line' | 'place' | 'code' | 'refused'> {
  readonly host: string | null
  readonly hasPassword: boolean
  readonly tags: readonly string[] | null
  readonly tagKeys: readonly string[] | null
  readonly warnings: readonly string[] | null
}

interface Known extends Said, Candidate {
  /** The link that is there has one of its own. */
  readonly keepsPassword: boolean
}

interface Warning {
  readonly line: number
  readonly code: string | null
  readonly reason: string
}

/** The codes that were minted for a part are not known in the database any more: it is prepared, and the part begun anew. */
export class LookAgain extends Error {
  override readonly name = 'LookAgain'
}

export async function workPart(sql: Sql, deps: PartDeps, job: Job, n: number): Promise<Outcome> {
  const { id, tenant } = job
  const part = [id, n]
  const said = await sql.query<Said>(
    `select line, place, code, host, refused, coalesce(has_password, false) as "hasPassword", tags, tag_keys as "tagKeys", warnings
     from ${saidIn} where p.import_id = $1 and p.n = $2 order by place`,
    part,
  )
  // Tags before the tenant, as whoever makes a link locks them.
  const tags = await tagsOf(sql, tenant, said)
  const terms = await lockTenant(sql, tenant, true)
  if (!terms) return { ...nothing, failure: 'This tenant has been deleted.' }
  const limit = linkLimit(deps.tiers, terms)
  const used = limit === null ? 0 : ((await recount(sql, tenant, limit)) ?? terms.linksAtMost ?? 0)
  const known = await candidates(sql, job, said)
  const hosts = await hostsOf(sql, tenant, known)
  const decided = decide(
    known.map((row) => ({ ...row, refused: row.refused ?? refusalOf(row, tags, hosts) })),
    {
      tenant,
      onConflict: job.onConflict,
      room: limit === null ? null : Math.max(0, limit - used - (job.dryRun ? job.created : 0)),
      quotaReason: `This tenant has all of its ${limit} links: delete some, or ask for more.`,
    },
  )
  if (decided.failure !== undefined) return { ...nothing, failure: decided.failure }
  const byPlace = new Map(known.map((row) => [row.place, row]))
  const chosen = (places: readonly number[]): Known[] => places.map((place) => byPlace.get(place)!)
  if (job.dryRun) await noteTried(sql, id, chosen(decided.create))
  else {
    await create(sql, deps, part, tenant, chosen(decided.create))
    if (decided.replace.length > 0) await sql.query(replaceSql, [...part, decided.replace, tenant])
  }
  const warnings = warningsOf(known, decided)
  await noteFindings(sql, part, decided.refused, warnings)
  await sql.query('delete from import_parts where import_id = $1 and n = $2', part)
  const created = decided.create.length
  // As the last thing before the commit, while the tenant's row is locked.
  if (limit !== null && !job.dryRun) await deps.quota.countMany(tenant, created, terms.generation)
  const { replaced, skipped, refused } = decided
  return { created, replaced, skipped, refused: refused.size, warned: warnings.length, failure: null }
}

/** Keys of those that the tenant has now. */
async function tagsOf(sql: Sql, tenant: string, rows: readonly Said[]): Promise<ReadonlySet<string>> {
  const names = eachOnce(rows.flatMap(({ tags }) => tags ?? []))
  if (names.length === 0) return new Set()
  await ensureTags(sql, tenant, names)
  const there = await sql.query<{ key: string }>('select key from tags where tenant = $1', [tenant])
  return new Set(there.map(({ key }) => key))
}

/** Links of the tenant that are there are locked, in the order of their codes, until this is done. */
async function candidates(sql: Sql, { id, tenant, dryRun }: Job, rows: readonly Said[]): Promise<Known[]> {
  const codes = rows.flatMap(({ code }) => code ?? [])
  let there = await linksAt(sql, codes)
  const own = there.flatMap((link) => (link.tenant === tenant ? link.code : []))
  if (own.length > 0) {
    void sql.query('select from links where code = any ($1) order by code for no key update', [own])
    // Some may have changed before they were locked. None has come meanwhile: whoever makes a link waits for the tenant's row (0016).
    there = await linksAt(sql, codes)
  }
  const tried = dryRun
    ? await sql.query<{ code: Code }>('select code from import_tried where import_id = $1 and code = any ($2)', [
        id,
        codes,
      ])
    : []
  const byCode = new Map(there.map((link) => [link.code, link]))
  const isTried = new Set(tried.map(({ code }) => code))
  return rows.map((row) => {
    const link = row.code === null ? undefined : byCode.get(row.code)
    const { tenant = null, isDeleted = false, keepsPassword = false } = link ?? {}
    return { ...row, tenant, isDeleted, keepsPassword, isTried: row.code !== null && isTried.has(row.code) }
  })
}

const linksAt = (sql: Sql, codes: readonly Code[]) =>
  sql.query<{ code: Code; tenant: string; isDeleted: boolean; keepsPassword: boolean }>(
    `select code, tenant, deleted_at is not null as "isDeleted", has_password as "keepsPassword" from links where code = any ($1)`,
    [codes],
  )

/** Further domains of these rows where the tenant may make links. */
async function hostsOf(sql: Sql, tenant: string, rows: readonly Known[]): Promise<ReadonlySet<string>> {
  const may = new Set<string>()
  for (const host of new Set(rows.map(hostOf))) {
    if (host !== null && (await mayUseDomain(sql, host, tenant))) may.add(host)
  }
  return may
}

const hostOf = ({ code, host }: Known): string | null => (code === null ? host : domainOf(code))

function refusalOf(row: Known, tags: ReadonlySet<string>, hosts: ReadonlySet<string>): string | null {
  const host = hostOf(row)
  if (host !== null && !hosts.has(host)) return `This tenant may not make links at ${host}: the owner can allow it.`
  if (row.tagKeys?.every((key) => tags.has(key)) === false) {
    return `A tenant has at most ${limits.tagsPerTenant} tags: delete some, or use those that exist.`
  }
  return null
}

async function create(
  sql: Sql,
  { preparation }: PartDeps,
  part: readonly unknown[],
  tenant: string,
  rows: readonly Known[],
): Promise<void> {
  if (rows.length === 0) return
  const minted = await mint(
    sql,
    preparation,
    rows.filter(({ code }) => code === null),
  )
  const [made] = await sql.query<{ n: number }>(createSql, [
    ...part,
    rows.map(({ place }) => place),
    tenant,
    rows.map(({ place }) => minted.get(place)?.code ?? null),
    rows.map(({ place }) => minted.get(place)?.counter ?? null),
    minted.size === 0 ? null : preparation.current().saltGeneration,
  ])
  // Somebody has made one of these codes since we looked: the next try sees it.
  if (made?.n !== rows.length) throw new Overtaken()
}

export class Overtaken extends Error {
  override readonly name = 'Overtaken'
}

interface Minted {
  readonly code: Code
  readonly counter: number
}

/** Codes of ours, by the places of their rows. */
async function mint(sql: Sql, preparation: Preparation, rows: readonly Known[]): Promise<ReadonlyMap<number, Minted>> {
  const minted = new Map<number, Minted>()
  if (rows.length === 0) return minted
  const { mint, postgresRunningSince } = preparation.current()
  if (await mustLookAgain(sql, postgresRunningSince)) throw new LookAgain()
  let waiting = rows
  for (let attempt = 0; waiting.length > 0 && attempt < limits.mintAttempts; attempt++) {
    const drawn = await sql.query<{ counter: number }>(
      `select nextval('link_counter_seq') as counter from generate_series(1, $1)`,
      [waiting.length],
    )
    const found: (readonly [Known, Minted])[] = []
    for (const [i, row] of waiting.entries()) {
      const counter = drawn[i]!.counter
      const code = mint(counter)
      if (code !== undefined) found.push([row, { code: codeAt(row.host, code), counter }])
      // A code takes some time to make: others are served in between.
      if (i % 10 === 9) await new Promise((resolve) => setImmediate(resolve))
    }
    const taken = await sql.query<{ code: Code }>('select code from links where code = any ($1)', [
      found.map(([, { code }]) => code),
    ])
    const isTaken = new Set(taken.map(({ code }) => code))
    for (const [row, made] of found) if (!isTaken.has(made.code)) minted.set(row.place, made)
    waiting = waiting.filter(({ place }) => !minted.has(place))
  }
  return minted
}

const noteTried = (sql: Sql, id: string, rows: readonly Known[]): Promise<unknown> =>
  sql.query('insert into import_tried select $1, code from unnest($2::text[]) as code on conflict do nothing', [
    id,
    rows.flatMap(({ code }) => code ?? []),
  ])

const hadPassword =
  'It had a password, which no file tells: it is disabled until it is given a URL, a password, and enabled.'

function warningsOf(rows: readonly Known[], { create, replace }: Decided): Warning[] {
  const made = new Set([...create, ...replace])
  return rows
    .filter(({ place }) => made.has(place))
    .flatMap(({ line, code, warnings, hasPassword, keepsPassword }) =>
      [...(warnings ?? []), ...(hasPassword && !keepsPassword ? [hadPassword] : [])].map((reason) => ({
        line,
        code,
        reason,
      })),
    )
}

async function noteFindings(
  sql: Sql,
  part: readonly unknown[],
  refused: ReadonlyMap<number, string>,
  warnings: readonly Warning[],
): Promise<void> {
  if (refused.size === 0 && warnings.length === 0) return
  await sql.query(
    `insert into import_findings (import_id, n, refused, warnings)
     select $1, $2, coalesce((
       select json_agg(json_build_object('line', r.line, 'reason', found.reason, 'source', r.source) order by r.place)
       from ${rowsIn} join unnest($3::integer[], $4::text[]) as found (place, reason) on found.place = r.place
       where p.import_id = $1 and p.n = $2
     ), '[]'), $5`,
    [...part, [...refused.keys()], [...refused.values()], JSON.stringify(warnings)],
  )
}
