// onExisting=return: where a tenant has a plain link to a URL already, it is answered in place of a new one.
import type { Sql } from '../connections/postgres.ts'
import { invalid, QuickLinkError } from '../errors.ts'
import type { Tier } from '../tenants/tiers.ts'
import type { NewAsked } from './asked.ts'
import { columns, withDetails, type LinkRow } from './store.ts'

interface Wanted {
  readonly url: string
  readonly domain: string | null
}

/** What is said of how it redirects would be lost with a link that is there. */
export function mustBePlain(body: object): void {
  const field = Object.keys(body).find((name) => !['url', 'domain', 'title', 'note', 'tags'].includes(name))
  if (field === undefined) return
  throw invalid(field, `${field} does not go with onExisting=return, which is for a plain link: leave one of them out.`)
}

/**
 * Of each the newest link that leads there and does nothing else, on the terms that the tier gives to whoever asks for none. What an end lacks
 * of a whole life is the time that a create takes.
 */
export async function findPlain(
  sql: Sql,
  tenant: string,
  { lifeDays, monthlyHits }: PlainTerms,
  wanted: readonly Wanted[],
): Promise<(LinkRow | undefined)[]> {
  // Those that are alike are looked for once, however many they are: what is found of one has to be sorted.
  const names = wanted.map(({ url, domain }) => JSON.stringify([url, domain]))
  const unlike = [...new Map(wanted.map((one, n) => [names[n]!, one]))]
  const rows = await sql.query<LinkRow & { n: number }>(
    `select asked.n, found.* from unnest($1::text[], $2::text[]) with ordinality as asked (url, domain, n) cross join lateral (
       select ${columns} from ${withDetails}
       where hashtextextended(links.url, 0) = hashtextextended(asked.url, 0) and links.url = asked.url and links.tenant = $3
         and links.deleted_at is null and links.enabled and not links.permanent and not links.forward_query
         and links.starts_at is null and links.expired_url is null and links.monthly_hits is not distinct from $4
         and case when $5::integer is null then links.expires_at is null
           else links.expires_at > greatest(now(), links.created_at + make_interval(days => $5) - interval '10 minutes') end
         and case when strpos(links.code, '/') = 0 then null else split_part(links.code, '/', 1) end is not distinct from asked.domain
       order by links.created_at desc, links.id desc limit 1
     ) as found`,
    [unlike.map(([, { url }]) => url), unlike.map(([, { domain }]) => domain), tenant, monthlyHits, lifeDays],
  )
  const found = new Map(rows.map(({ n, ...row }) => [unlike[n - 1]![0], row]))
  return names.map((name) => found.get(name))
}

export type PlainTerms = Pick<Tier, 'lifeDays' | 'monthlyHits'>

const urlLock = 7_105_014
/** All of a tenant's URLs share so many: each is a place in a table that all transactions of the database share. Who has the same one waits for a moment. */
const urlLocks = 32

/**
 * In the transaction that is about to make them: until it ends, nobody else who would rather have a link that is there makes one to these URLs. Whoever
 * makes links regardless waits for nothing. In one order, so that of two requests for many one waits for the other, and neither is a deadlock.
 */
const lockUrls = (sql: Sql, tenant: string, urls: readonly string[]): Promise<unknown> =>
  sql.query(
    `select pg_advisory_xact_lock(${urlLock}, lock) from (
       select distinct hashtext($1) # (hashtext(url) & ${urlLocks - 1}) as lock from unnest($2::text[]) as url order by lock
     ) as locks`,
    [tenant, urls],
  )

export async function mustBeNone(sql: Sql, tenant: string, terms: PlainTerms, wanted: Wanted): Promise<void> {
  void lockUrls(sql, tenant, [wanted.url])
  const [row] = await findPlain(sql, tenant, terms, [wanted])
  if (row) throw new IsThere(row)
}

/** Somebody has made such a link since it was looked for. */
export class IsThere extends Error {
  override readonly name = 'IsThere'
  readonly row: LinkRow
  constructor(row: LinkRow) {
    super()
    this.row = row
  }
}

type Asked = NewAsked | QuickLinkError
export interface Reused {
  readonly row: LinkRow | QuickLinkError
  /** It was there, or an earlier one of the request is it. */
  readonly isThere: boolean
}

interface Plan {
  readonly toMake: readonly Asked[]
  /** What became of those, as results of all. */
  readonly whole: (made: readonly Reused[]) => readonly Reused[]
}

export const makeAll = (asked: readonly Asked[]): Plan => ({
  toMake: asked,
  whole: (made) => made,
})

/** The same in the transaction that makes them. */
export function reuseIn(sql: Sql, tenant: string, terms: PlainTerms, asked: readonly Asked[]): Promise<Plan> {
  void lockUrls(sql, tenant, asked.flatMap((one) => (one instanceof QuickLinkError ? [] : one.link.url))) // prettier-ignore
  return reuse(sql, tenant, terms, asked)
}

/** As so many calls one after the other: what is there is answered, and of several that are alike one is made. */
export async function reuse(sql: Sql, tenant: string, terms: PlainTerms, asked: readonly Asked[]): Promise<Plan> {
  const readable = asked.filter((one): one is NewAsked => !(one instanceof QuickLinkError))
  const wanted = readable.map(({ link: { url }, domain }) => ({ url, domain }))
  const rows = await findPlain(sql, tenant, terms, wanted)
  const there = new Map(readable.map((one, n) => [one as Asked, rows[n]]))
  const places = new Map<string, number>()
  const toMake: Asked[] = []
  const plans = asked.map((one): { row: LinkRow } | { place: number; isThere: boolean } => {
    const row = there.get(one)
    if (row) return { row }
    const name = one instanceof QuickLinkError ? undefined : JSON.stringify([one.link.url, one.domain])
    const before = name === undefined ? undefined : places.get(name)
    if (before !== undefined) return { place: before, isThere: true }
    if (name !== undefined) places.set(name, toMake.length)
    return { place: toMake.push(one) - 1, isThere: false }
  })
  return {
    toMake,
    whole: (made) =>
      plans.map((plan) =>
        'row' in plan
          ? { row: plan.row, isThere: true }
          : { row: made[plan.place]!.row, isThere: plan.isThere || made[plan.place]!.isThere },
      ),
  }
}
