// All links that fit, as they were at one moment, however many there are: read by a cursor in a transaction of their own, a step at a time, and
// the next step when the last one was taken. Each export has a connection of its own, so that none takes one from the API; so few at once.
import type { Config } from '../config.ts'
import { limits } from '../config.ts'
import { openSession, sqlOf, type Sql } from '../connections/postgres.ts'
import type { Names } from '../domains/names.ts'
import { QuickLinkError } from '../errors.ts'
import { csvLine } from './csv.ts'
import { allSql, tagIds, type ExportQuery } from './list.ts'
import { matcherIn } from './search.ts'
import { present, type LinkShown } from './shown.ts'
import type { LinkRow } from './store.ts'

type Format = 'csv' | 'ndjson'

export const exportTypes: Readonly<Record<Format, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
}

/** In the order of the columns. */
const cells: Readonly<Record<string, (link: LinkShown) => string | number | boolean | null>> = {
  code: (link) => link.code,
  domain: (link) => link.domain,
  shortUrl: (link) => link.shortUrl,
  url: (link) => link.url,
  title: (link) => link.title,
  note: (link) => link.note,
  // No tag has a bar in it.
  tags: (link) => link.tags.join('|'),
  enabled: (link) => link.enabled,
  permanent: (link) => link.permanent,
  startsAt: (link) => link.startsAt,
  expiresAt: (link) => link.expiresAt,
  expiredUrl: (link) => link.expiredUrl,
  forwardQuery: (link) => link.forwardQuery,
  monthlyHits: (link) => link.monthlyHits,
  rules: (link) => (link.rules.length === 0 ? null : JSON.stringify(link.rules)),
  hasPassword: (link) => link.hasPassword,
  clicks: (link) => link.clicks,
  state: (link) => link.state,
  tenant: (link) => link.tenant,
  createdBy: (link) => link.createdBy,
  createdAt: (link) => link.createdAt,
  updatedAt: (link) => link.updatedAt,
}
const columns = Object.entries(cells)

const writers: Readonly<Record<Format, { readonly head: string; readonly line: (link: LinkShown) => string }>> = {
  csv: {
    head: csvLine(Object.keys(cells)),
    line: (link) => csvLine(columns.map(([, cell]) => String(cell(link) ?? ''))),
  },
  ndjson: { head: '', line: (link) => `${JSON.stringify(link)}\n` },
}

export type Exports = ReturnType<typeof createExports>

export function createExports({ databaseUrl }: Pick<Config, 'databaseUrl'>, names: Names) {
  const busy = new Set<string>()
  const options = {
    url: databaseUrl,
    name: 'quicklink-export',
    connectMs: limits.dbConnectMs,
    queryMs: limits.exportStepMs,
    onlyIndexes: true,
  }

  /** `tenant` asks. */
  async function* read(tenant: string, query: ExportQuery): AsyncGenerator<readonly LinkRow[]> {
    if (busy.has(tenant)) throw another()
    if (busy.size >= limits.exports) throw noRoom()
    busy.add(tenant)
    try {
      await using session = await openSession(options)
      const sql = sqlOf(session.client)
      await begin(sql, tenant)
      await declare(sql, query)
      for (;;) {
        const rows = await sql.query<LinkRow>(`fetch ${limits.exportStep} from links_wanted`)
        if (rows.length > 0) yield rows
        if (rows.length < limits.exportStep) return
      }
    } finally {
      busy.delete(tenant)
    }
  }

  return async function* parts(tenant: string, query: ExportQuery, format: Format): AsyncGenerator<string> {
    const { head, line } = writers[format]
    let first = head
    for await (const rows of read(tenant, query)) {
      yield first + rows.map((row) => line(present(names, row))).join('')
      first = ''
    }
    if (first !== '') yield first
  }
}

const [tenantLock, placeLock] = [7_105_008, 7_105_009]

/** The tenant's turn, and one of the places of all processes, until the session ends. */
async function begin(sql: Sql, tenant: string): Promise<void> {
  await sql.query('begin isolation level repeatable read read only')
  const [{ mine } = { mine: false }] = await sql.query<{ mine: boolean }>(
    `select pg_try_advisory_xact_lock(${tenantLock}, hashtext($1)) as mine, set_config('statement_timeout', $2, true)`,
    [tenant, String(limits.exportStepMs)],
  )
  if (!mine) throw another()
  const place = await sql.query(
    `select place from generate_series(1, ${limits.exportsInAll}) as place
     where pg_try_advisory_xact_lock(${placeLock}, place) limit 1`,
  )
  if (place.length === 0) throw noRoom()
}

async function declare(sql: Sql, query: ExportQuery): Promise<void> {
  const tags = query.tag === undefined ? undefined : await tagIds(sql, query.scope, query.tag)
  const match = query.q ? (await matcherIn(sql))(query.q) : undefined
  const { text, values } = allSql(query, tags, match)
  await sql.query(`declare links_wanted no scroll cursor for ${text}`, values)
}

const another = (): QuickLinkError =>
  new QuickLinkError('rate_limited', 'Another export of this tenant is under way: try again when it has ended.', {
    retryAfterS: limits.exportRetryS,
  })

const noRoom = (): QuickLinkError =>
  new QuickLinkError('unavailable', 'Other exports are under way: try again when one has ended.', {
    retryAfterS: limits.exportRetryS,
  })
