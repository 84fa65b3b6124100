// Searching links for a part of their code, URL or title, so that one tenant's search takes nothing from others: it reads an
// index, has a short deadline of its own, and each tenant has one at a time, in all processes. The same leash holds what else is asked
// of a list and no index promises (list.ts).
//
// Where pg_trgm is there, `q` may stand anywhere in the code, in the beginning of the URL or in the title. Where it is not, or as long
// as its index is being built, they must begin with `q`, the URL without its scheme and `www.`. Without regard to
// case. The URL is cut, because the work of finding a pattern in it, and the index, grow with it.
import { busy, Turns } from '../api/turns.ts'
import { limits } from '../limits.ts'
import type { Choose } from '../connections/indexes.ts'
import { sqlState, type Postgres, type Sql } from '../connections/postgres.ts'
import { unavailable } from '../errors.ts'

const url = `left(url, ${limits.searchedChars}) collate "C"`
const anywhere = `lower(code || E'\\n' || ${url})`
const title = 'lower(details.title)'
/** Without the host of a further domain before it. */
const slug = `substr(code, strpos(code, '/') + 1)`
const withoutScheme = `lower(regexp_replace(${url}, '^https?://(www\\.)?', ''))`

// What is not sorted into the index yet, a search reads from end to end: little, therefore.
const trigrams = {
  name: 'links_by_part',
  definition: `on links using gin ((${anywhere}) gin_trgm_ops) with (gin_pending_list_limit = 256) where deleted_at is null`,
}
const titleTrigrams = {
  name: 'details_by_part',
  definition: `on link_details using gin ((lower(title)) gin_trgm_ops) with (gin_pending_list_limit = 256) where title is not null`,
}
const beginnings = [
  { name: 'details_by_title', definition: `on link_details ((lower(title) collate "C")) where title is not null` },
  { name: 'links_by_host', definition: `on links ((${withoutScheme})) where deleted_at is null` },
  { name: 'links_by_code', definition: `on links (lower(code)) where deleted_at is null` },
  { name: 'links_by_slug', definition: `on links (lower(${slug})) where deleted_at is null` },
]

/** What this Postgres can do: pg_trgm may be added by the owner of a database, unless it is missing or forbidden. */
export const searchIndexes: Choose = async (add) => ((await add('pg_trgm')) ? [trigrams, titleTrigrams] : beginnings)

/** Conditions with a parameter for `pattern`: of a link, and of its details. */
export interface Match {
  readonly pattern: string
  readonly inLink: (parameter: string) => string
  readonly inTitle: (parameter: string) => string
}

function matchOf(q: string, hasTrigrams: boolean): Match {
  // Lower case is what Postgres takes for it: letters beyond a to z are as its locale has them.
  const literal = (part: string): string => part.replace(/[\\%_]/g, '\\$&')
  if (hasTrigrams) {
    const pattern = `%${literal(q)}%`
    return {
      pattern,
      inLink: (p) => `${anywhere} like lower(${p} collate "C")`,
      inTitle: (p) => `${title} like lower(${p})`,
    }
  }
  return {
    pattern: `${literal(q.replace(/^https?:\/\/(www\.)?/i, ''))}%`,
    inLink: (p) =>
      `(lower(code) like lower(${p} collate "C") or lower(${slug}) like lower(${p} collate "C") or ${withoutScheme} like lower(${p} collate "C"))`,
    inTitle: (p) => `${title} collate "C" like lower(${p}) collate "C"`,
  }
}

/** `work` reads what it wants within the deadline; beyond it, the tenant is told `tooLong`. */
export type Leash = <T>(
  tenant: string,
  tooLong: string,
  work: (sql: Sql, matchOf: (q: string) => Match) => Promise<T>,
) => Promise<T>

export function createLeash(db: Postgres): Leash {
  const turns = new Turns({ running: limits.searches, waiting: limits.searchQueue, waitingOfTenant: 1, what: 'search' })
  return (tenant, tooLong, work) =>
    turns.in(tenant, async () => {
      try {
        return await db.transaction(async (sql) => {
          const hasTrigrams = await begin(sql, tenant)
          return work(sql, (q) => matchOf(q, hasTrigrams))
        })
      } catch (error) {
        if (sqlState(error) !== '57014') throw error
        throw unavailable(tooLong, error)
      }
    })
}

const searchLock = 7_105_005

/** An index to search by is there. */
const trigramsThere = `exists (select from pg_index where indexrelid = to_regclass('${trigrams.name}') and indisvalid) as trigrams`

/** The tenant's slot and the deadline, until the transaction ends. Answers whether there are trigrams to search by. */
async function begin(sql: Sql, tenant: string): Promise<boolean> {
  const [begun] = await sql.query<{ mine: boolean; trigrams: boolean }>(
    `select set_config('statement_timeout', $1, true), pg_try_advisory_xact_lock(${searchLock}, hashtext($2)) as mine, ${trigramsThere}`,
    [String(limits.searchMs), tenant],
  )
  if (!begun?.mine) throw busy('search')
  return begun.trigrams
}

/** The same for who needs no slot. */
export async function matcherIn(sql: Sql): Promise<(q: string) => Match> {
  const [found] = await sql.query<{ trigrams: boolean }>(`select ${trigramsThere}`)
  return (q) => matchOf(q, found?.trigrams ?? false)
}
