// Searching links for a part of their code or URL, so that one tenant's search takes nothing from others: it reads an index,
// has a short deadline of its own, and each tenant has one at a time, in all processes.
//
// Where pg_trgm is there, `q` may stand anywhere in the code or in the beginning of the URL. Where it is not, or as long as
// its index is being built, codes and URLs must begin with `q`, the URL without its scheme and `www.`. Without regard to
// case. The text is cut, because the work of finding a pattern in it, and the index, grow with it.
import { limits } from '../config.ts'
import type { Choose } from '../connections/indexes.ts'
import { sqlState, type Postgres, type Sql } from '../connections/postgres.ts'
import { QuickLinkError, unavailable } from '../errors.ts'

const url = `left(url, ${limits.searchedChars}) collate "C"`
const anywhere = `lower(code || E'\\n' || ${url})`
const withoutScheme = `lower(regexp_replace(${url}, '^https?://(www\\.)?', ''))`

// What is not sorted into the index yet, a search reads from end to end: little, therefore.
const trigrams = {
  name: 'links_by_part',
  definition: `on links using gin ((${anywhere}) gin_trgm_ops) with (gin_pending_list_limit = 256) where deleted_at is null`,
}
const beginnings = [
  { name: 'links_by_host', definition: `on links ((${withoutScheme})) where deleted_at is null` },
  { name: 'links_by_code', definition: `on links (lower(code)) where deleted_at is null` },
]

/** What this Postgres can do: pg_trgm may be added by the owner of a database, unless it is missing or forbidden. */
export const searchIndexes: Choose = async (add) => ((await add('pg_trgm')) ? [trigrams] : beginnings)

/** A condition with a parameter for `pattern`. */
export interface Match {
  readonly pattern: string
  readonly condition: (parameter: string) => string
}

function matchOf(q: string, hasTrigrams: boolean): Match {
  const text = q.toLowerCase()
  const literal = (part: string): string => part.replace(/[\\%_]/g, '\\$&')
  if (hasTrigrams) return { pattern: `%${literal(text)}%`, condition: (p) => `${anywhere} like ${p}` }
  return {
    pattern: `${literal(text.replace(/^https?:\/\/(www\.)?/, ''))}%`,
    condition: (p) => `(lower(code) like ${p} or ${withoutScheme} like ${p})`,
  }
}

/** `work` reads what matches, within the deadline. */
export type Search = <T>(tenant: string, q: string, work: (sql: Sql, match: Match) => Promise<T>) => Promise<T>

export function createSearch(db: Postgres): Search {
  const turns = new Turns()
  return async (tenant, q, work) => {
    await turns.take(tenant)
    try {
      return await db.transaction(async (sql) => work(sql, matchOf(q, await begin(sql, tenant))))
    } catch (error) {
      if (sqlState(error) !== '57014') throw error
      throw unavailable(
        'This search takes too long: search for a longer or a rarer part of the code or the URL.',
        error,
      )
    } finally {
      turns.pass(tenant)
    }
  }
}

const searchLock = 7_105_005

/** The tenant's slot and the deadline, until the transaction ends. Answers whether there are trigrams to search by. */
async function begin(sql: Sql, tenant: string): Promise<boolean> {
  const [begun] = await sql.query<{ mine: boolean; trigrams: boolean }>(
    `select set_config('statement_timeout', $1, true), pg_try_advisory_xact_lock(${searchLock}, hashtext($2)) as mine,
       exists (select from pg_index where indexrelid = to_regclass('${trigrams.name}') and indisvalid) as trigrams`,
    [String(limits.searchMs), tenant],
  )
  if (!begun?.mine) throw busy()
  return begun.trigrams
}

const busy = (): QuickLinkError =>
  new QuickLinkError('rate_limited', 'Another search of this tenant is under way: try again when it has ended.', {
    retryAfterS: 1,
  })

/** In this process: one search of a tenant, and one more that waits for it; a few of all tenants, in their order. */
class Turns {
  readonly #running = new Set<string>()
  readonly #waiting = new Map<string, () => void>()

  async take(tenant: string): Promise<void> {
    if (this.#mayRun(tenant)) {
      this.#running.add(tenant)
      return
    }
    if (this.#waiting.has(tenant)) throw busy()
    if (this.#waiting.size >= limits.searchQueue) throw unavailable('Too many searches are waiting: try again soon.')
    await new Promise<void>((resolve) => this.#waiting.set(tenant, resolve))
  }

  pass(tenant: string): void {
    this.#running.delete(tenant)
    for (const [next, begins] of this.#waiting) {
      if (!this.#mayRun(next)) continue
      this.#waiting.delete(next)
      this.#running.add(next)
      begins()
    }
  }

  #mayRun(tenant: string): boolean {
    return !this.#running.has(tenant) && this.#running.size < limits.searches
  }
}
