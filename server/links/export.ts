// All links that fit, as they were at one moment, however many there are.
import type { ExportTurns } from '../api/export-turns.ts'
import { limits } from '../limits.ts'
import type { Names } from '../domains/names.ts'
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

export function createExports(turns: ExportTurns, names: Names) {
  const read = (tenant: string, query: ExportQuery): AsyncGenerator<readonly LinkRow[]> =>
    turns(tenant, async (sql) => {
      const tags = query.tag === undefined ? undefined : await tagIds(sql, query.scope, query.tag)
      const match = query.q ? (await matcherIn(sql))(query.q) : undefined
      return { ...allSql(query, tags, match), step: limits.exportStep }
    })

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
