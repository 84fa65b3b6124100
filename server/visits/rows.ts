// What is added to the rows of visits, and how it gets there. Rows that are new are put there empty first; then all are locked, read, added to
// and written, some hundred at a time. Both steps go by subject and time, so that two who write wait for each other and never in a circle.
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import { dimensions } from './batch.ts'
import { addAll, cut, pack, unpack, type Cells } from './cells.ts'

export const levels = { hour: 'visit_hours', day: 'visit_days', month: 'visit_months' } as const
export type Level = keyof typeof levels

export const subjectOf = {
  link: (id: number): string => `l/${id}`,
  tag: (id: number): string => `g/${id}`,
  tenant: (id: string): string => `t/${id}`,
}

/** Of one link, and not of all that has a tag or is a tenant's. */
export const isLink = ({ subject }: Key): boolean => subject.startsWith('l/')

/** Of a tenant, as SQL: one that has got the id of another, whose visits are still being removed, has a name of its own (migration 0028). */
export const tenantSubject = (id: string): string =>
  `coalesce((select visits_subject from tenants where tenants.id = ${id}), 't/' || ${id})`

export const figures = ['total', 'people', 'withheld', 'detailed'] as const
export type Figures = Record<(typeof figures)[number], number>

export interface Key {
  readonly subject: string
  readonly atMs: number
}

/** Of one subject and time. */
export interface More extends Key, Figures {
  /** By the number of the dimension. */
  readonly cells: (Cells | undefined)[]
}

/** What is added to the rows of one table. */
export class Additions<T extends Key> {
  readonly #rows = new Map<string, T>()
  readonly #empty: (key: Key) => T

  constructor(empty: (key: Key) => T) {
    this.#empty = empty
  }

  of(subject: string, atMs: number): T {
    const name = `${subject} ${atMs}`
    let row = this.#rows.get(name)
    if (!row) this.#rows.set(name, (row = this.#empty({ subject, atMs })))
    return row
  }

  /** As Postgres orders them. */
  get sorted(): readonly T[] {
    return [...this.#rows.values()].sort((a, b) => compare(a.subject, b.subject) || a.atMs - b.atMs)
  }
}

/** By bytes, as the collation "C" has it. */
const compare = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

export const additions = (): Additions<More> =>
  new Additions((key) => ({ ...key, total: 0, people: 0, withheld: 0, detailed: 0, cells: [] }))

const subjects = (rows: readonly Key[]): string[] => rows.map(({ subject }) => subject)
const times = (rows: readonly Key[]): Date[] => rows.map(({ atMs }) => new Date(atMs))

/** So that Postgres looks into these partitions only. */
function spanOf(rows: readonly Key[]): [Date, Date] {
  let [first, last] = [Infinity, -Infinity]
  for (const { atMs } of rows) [first, last] = [Math.min(first, atMs), Math.max(last, atMs)]
  return [new Date(first), new Date(last)]
}

/** Before any row is locked. */
export async function makeRoom(sql: Sql, table: string, rows: readonly Key[]): Promise<void> {
  if (rows.length === 0) return
  await sql.query(
    `insert into ${table} (subject, at) select subject, at from unnest($1::text[], $2::timestamptz[]) as key (subject, at)
     order by subject, at on conflict do nothing`,
    [subjects(rows), times(rows)],
  )
}

/** In their order, one look into the index after the other, each with what Postgres has of it. */
export async function* locked<T extends Key, R>(
  sql: Sql,
  table: string,
  rows: readonly T[],
  columns: string,
): AsyncGenerator<readonly (readonly [T, R | undefined])[]> {
  for (let from = 0; from < rows.length; from += limits.visitRows) {
    const some = rows.slice(from, from + limits.visitRows)
    const found = await sql.query<R & { subject: string; at: Date }>(
      `select kept.* from unnest($1::text[], $2::timestamptz[]) as key (subject, at), lateral (
         select subject, at, ${columns} from ${table} as row
         where row.subject = key.subject and row.at = key.at and row.at between $3 and $4 for update
       ) as kept`,
      [subjects(some), times(some), ...spanOf(some)],
    )
    const byName = new Map(found.map((row) => [`${row.subject} ${row.at.getTime()}`, row]))
    yield some.map((row) => [row, byName.get(`${row.subject} ${row.atMs}`)] as const)
  }
}

/** `set`: what becomes of each row by the columns of `values`, which come after subject and time. */
export async function write(
  sql: Sql,
  table: string,
  set: string,
  rows: readonly Key[],
  values: readonly { readonly name: string; readonly type: string; readonly of: readonly unknown[] }[],
): Promise<void> {
  if (rows.length === 0) return
  const types = values.map(({ type }, n) => `$${n + 5}::${type}[]`).join(', ')
  const names = values.map(({ name }) => name).join(', ')
  await sql.query(
    `update ${table} as row set ${set} from unnest($1::text[], $2::timestamptz[], ${types}) as more (subject, at, ${names})
     where row.subject = more.subject and row.at = more.at and row.at between $3 and $4`,
    [subjects(rows), times(rows), ...spanOf(rows), ...values.map(({ of }) => of)],
  )
}

const setAll = [
  ...figures.map((name) => `${name} = row.${name} + more.${name}`),
  // What is null has not changed.
  ...dimensions.map((name) => `${name} = coalesce(more.${name}, row.${name})`),
].join(', ')

type Kept = Record<string, Buffer | null>

/** Adds to rows that have room. */
export async function addTo(sql: Sql, level: Level, rows: readonly More[]): Promise<void> {
  const table = levels[level]
  for await (const some of locked<More, Kept>(sql, table, rows, dimensions.join(', '))) {
    const packed = some.map(([{ cells }, kept]) =>
      dimensions.map((name, dimension) => {
        const more = cells[dimension]
        if (more === undefined) return null
        const all: Cells = new Map()
        // What has just come is first: see `cut`.
        addAll(all, more)
        return pack(cut(unpack(kept?.[name] ?? null, all), limits.visitValues))
      }),
    )
    const changed = some.map(([row]) => row)
    await write(sql, table, setAll, changed, [
      ...figures.map((name) => ({ name, type: 'bigint', of: changed.map((row) => row[name]) })),
      ...dimensions.map((name, dimension) => ({
        name,
        type: 'bytea',
        of: packed.map((columns) => columns[dimension]),
      })),
    ])
  }
}
