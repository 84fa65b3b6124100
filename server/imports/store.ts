// The SQL of imports as people see them. What is done with a part is in part.ts.
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import type { FormatName } from './formats/all.ts'
import type { StagedRow } from './row.ts'

export const conflicts = ['skip', 'replace', 'fail'] as const
export type OnConflict = (typeof conflicts)[number]
export const states = ['queued', 'running', 'done', 'failed'] as const

export interface ImportRow {
  readonly seq: number
  readonly id: string
  readonly tenant: string
  readonly domain: string | null
  readonly format: FormatName
  readonly onConflict: OnConflict
  readonly dryRun: boolean
  readonly createdBy: string | null
  readonly state: (typeof states)[number]
  readonly rows: number
  readonly created: number
  readonly replaced: number
  readonly skipped: number
  readonly refused: number
  readonly warned: number
  readonly failure: string | null
  readonly createdAt: Date
  readonly endedAt: Date | null
}

const columns = `seq, id, tenant, domain, format, on_conflict as "onConflict", dry_run as "dryRun", created_by as "createdBy", state,
  rows, created, replaced, skipped, refused, warned, failure, created_at as "createdAt", ended_at as "endedAt"`

/** Of a file that is still coming, nobody hears. */
const isThere = `state <> 'receiving'`
/** null: everybody's. */
export type Scope = string | null

export interface NewImport extends Pick<ImportRow, 'id' | 'tenant' | 'domain' | 'onConflict' | 'dryRun' | 'createdBy'> {
  readonly format: string
}

/** In a transaction. False: the tenant has as many as it may have that are not done. Those beyond what is kept are forgotten. */
export async function beginImport(sql: Sql, made: NewImport): Promise<boolean> {
  const { id, tenant, domain, format, onConflict, dryRun, createdBy } = made
  await sql.query('select from tenants where id = $1 for no key update', [tenant])
  const begun = await sql.query(
    `insert into imports (id, tenant, domain, format, on_conflict, dry_run, created_by)
     select $1, $2, $3, $4, $5, $6, $7
     where (select count(*) from imports where tenant = $2 and state in ('queued', 'running')) < ${limits.importsWaiting}
     returning 1`,
    [id, tenant, domain, format, onConflict, dryRun, createdBy],
  )
  await sql.query(
    `delete from imports where id = any (array(
       select id from imports where tenant = $1 and state in ('done', 'failed') order by seq desc offset ${limits.importsKept}))`,
    [tenant],
  )
  return begun.length > 0
}

export const addPart = (sql: Sql, id: string, n: number, rows: readonly StagedRow[]): Promise<unknown> =>
  sql.query('insert into import_parts (import_id, n, rows) values ($1, $2, $3)', [
    id,
    n,
    JSON.stringify(rows.map((row, place) => ({ place, ...row }))),
  ])

export interface Received {
  readonly rows: number
  readonly format: FormatName
  readonly columns: readonly string[]
}

/** All of its file is here: from now on it will be done, whoever dies. */
export async function queueImport(
  sql: Sql,
  id: string,
  { rows, format, columns: names }: Received,
): Promise<ImportRow | undefined> {
  const [row] = await sql.query<ImportRow>(
    `update imports set state = 'queued', rows = $2, format = $3, columns = $4 where id = $1 returning ${columns}`,
    [id, rows, format, names],
  )
  return row
}

/** Waits for the part that is worked on; what it has made stays. Whose it was; undefined: there is none. */
export async function removeImport(sql: Sql, id: string, scope: Scope): Promise<string | undefined> {
  const [gone] = await sql.query<{ tenant: string }>(
    'delete from imports where id = $1 and ($2::text is null or tenant = $2) returning tenant',
    [id, scope],
  )
  return gone?.tenant
}

export async function readImport(sql: Sql, id: string, scope: Scope): Promise<ImportRow | undefined> {
  const [row] = await sql.query<ImportRow>(
    `select ${columns} from imports where id = $1 and ${isThere} and ($2::text is null or tenant = $2)`,
    [id, scope],
  )
  return row
}

/** A page, newest first, and one more where there are more. */
export const listImports = (sql: Sql, scope: Scope, limit: number, before: number | null): Promise<ImportRow[]> =>
  sql.query(
    `select ${columns} from imports where ${isThere} and ($1::text is null or tenant = $1)
       and ($3::bigint is null or seq < $3) order by seq desc limit $2`,
    [scope, limit + 1, before],
  )

export interface Warning {
  readonly line: number
  readonly code: string | null
  readonly reason: string
}

export const readWarnings = (sql: Sql, id: string): Promise<Warning[]> =>
  sql.query(
    `select w.line, w.code, w.reason
     from import_findings f cross join json_to_recordset(f.warnings) as w (line integer, code text, reason text)
     where f.import_id = $1 order by f.n, w.line limit ${limits.importWarnings}`,
    [id],
  )

export interface Refused {
  readonly line: number
  readonly reason: string
  readonly source: readonly string[]
}

/** Part by part, in the order of the file. */
export async function* readRefused(sql: Sql, id: string): AsyncGenerator<readonly Refused[]> {
  for (let last = -1; ;) {
    const [part] = await sql.query<{ n: number; refused: Refused[] }>(
      'select n, refused from import_findings where import_id = $1 and n > $2 order by n limit 1',
      [id, last],
    )
    if (!part) return
    yield part.refused
    last = part.n
  }
}

export async function columnsOf(sql: Sql, id: string): Promise<readonly string[]> {
  const [row] = await sql.query<{ columns: string[] }>('select columns from imports where id = $1', [id])
  return row?.columns ?? []
}
