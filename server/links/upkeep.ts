// What grows and is no longer needed, removed a batch at a time. One process at a time: each batch takes the lock, and
// whoever does not get it leaves the work to the holder.
import { limits } from '../config.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'

const batch = 1000
const upkeepLock = 7_105_002

type Remove = (sql: Sql) => Promise<number>

/** Links expired or deleted long ago go with their clicks, and their codes are free again. Caches have forgotten them. */
export const purgeLinks: Remove = (sql) =>
  count(
    sql,
    `with dead as (
       select code from links
       where deleted_at < now() - make_interval(days => $1) or expires_at < now() - make_interval(days => $1)
       limit $2 for update skip locked
     ), gone as (
       delete from links using dead where links.code = dead.code returning links.id
     ), forgotten as (
       delete from clicks using gone where clicks.link_id = gone.id
     )
     select count(*) as count from gone`,
    limits.purgeAfterDays,
  )

export const pruneIdempotencyKeys: Remove = (sql) =>
  count(
    sql,
    `with gone as (
       delete from idempotency_keys where ctid = any (array(
         select ctid from idempotency_keys where created_at < now() - make_interval(hours => $1) limit $2
       )) returning 1
     )
     select count(*) as count from gone`,
    limits.idempotencyHours,
  )

export const pruneOutbox: Remove = (sql) =>
  count(
    sql,
    `with gone as (
       delete from outbox where ctid = any (array(
         select ctid from outbox where at < now() - make_interval(hours => $1) limit $2
       )) returning 1
     )
     select count(*) as count from gone`,
    limits.outboxHours,
  )

/** Grants of months that are long over. */
export const pruneHits: Remove = (sql) =>
  count(
    sql,
    `with gone as (
       delete from hits where ctid = any (array(
         select ctid from hits where month < now() - make_interval(months => $1) limit $2
       )) returning 1
     )
     select count(*) as count from gone`,
    limits.hitsMonths,
  )

/** Spools whose files are gone, when no statement about them can be under way any more. */
export const pruneSpools: Remove = (sql) =>
  count(
    sql,
    `with gone as (
       delete from click_spools where ctid = any (array(
         select ctid from click_spools where closed_at < now() - make_interval(days => $1) limit $2
       )) returning 1
     )
     select count(*) as count from gone`,
    limits.spoolDays,
  )

async function count(sql: Sql, text: string, age: number): Promise<number> {
  const [row] = await sql.query<{ count: number }>(text, [age, batch])
  return row?.count ?? 0
}

export interface Upkept {
  readonly links: number
  readonly idempotencyKeys: number
  readonly outbox: number
  readonly hits: number
  readonly spools: number
}

export async function upkeep(db: Postgres): Promise<Upkept> {
  return {
    links: await inBatches(db, purgeLinks),
    idempotencyKeys: await inBatches(db, pruneIdempotencyKeys),
    outbox: await inBatches(db, pruneOutbox),
    hits: await inBatches(db, pruneHits),
    spools: await inBatches(db, pruneSpools),
  }
}

async function inBatches(db: Postgres, remove: Remove): Promise<number> {
  let total = 0
  for (;;) {
    const removed = await db.transaction(async (sql) => {
      const [lock] = await sql.query<{ mine: boolean }>(`select pg_try_advisory_xact_lock(${upkeepLock}) as mine`)
      return lock?.mine ? remove(sql) : 0
    })
    total += removed
    if (removed < batch) return total
  }
}
