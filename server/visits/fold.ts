// A page of visits, added to what is kept: for each link, its tenant and its tags, to the hour and to the day, and to the visitors of the UTC
// day. Called in the transaction that counts the page's clicks, so each visit is added once.
import { setImmediate } from 'node:timers/promises'
import { limits } from '../limits.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Fold, HourOfVisits, LinkVisits } from './batch.ts'
import { add, cellsOf } from './cells.ts'
import { decode, encode, merge } from './hyperloglog.ts'
import {
  addTo,
  additions,
  Additions,
  figures,
  isLink,
  locked,
  makeRoom,
  subjectOf,
  tenantSubject,
  write,
  type Key,
  type More,
} from './rows.ts'

const dayMs = 86_400_000

interface VisitorsOfDay extends Key {
  /** Rank by register. */
  readonly ranks: Map<number, number>
  atLeast: boolean
}

/** Days begin as they do in `timeZone`, at full hours. */
export const foldVisits =
  (timeZone: string): Fold =>
  async (sql, hours) => {
    const ids = [...new Set(hours.flatMap(({ links }) => links.map(({ linkId }) => linkId)))]
    if (ids.length === 0) return
    const [owners, days] = await Promise.all([ownersOf(sql, ids), daysOf(sql, timeZone, hours)])
    const byHour = additions()
    const byDay = additions()
    const visitors = new Additions<VisitorsOfDay>((key) => ({ ...key, ranks: new Map(), atLeast: false }))
    for (const { hourMs, links } of hours) {
      const startMs = days.get(hourMs)
      if (startMs === undefined) continue
      const utcDayMs = hourMs - (hourMs % dayMs)
      for (const [n, visits] of links.entries()) {
        // Redirects have their turn.
        if (n % limits.visitRows === limits.visitRows - 1) await setImmediate()
        for (const subject of owners.get(visits.linkId) ?? []) {
          count(byHour.of(subject, hourMs), visits)
          count(byDay.of(subject, startMs), visits)
          if (tellsOfVisitors(visits)) see(visitors.of(subject, utcDayMs), visits)
        }
      }
    }
    const [inHours, inDays, seen] = [byHour.sorted, byDay.sorted, visitors.sorted]
    await makeRoom(sql, 'visit_hours', inHours)
    await makeRoom(sql, 'visit_days', inDays)
    await makeRoom(sql, 'visit_visitors', seen)
    // What many write comes last, so that nobody waits for it longer than its own rows take.
    for (const isOfMany of [false, true]) {
      const some = <T extends Key>(rows: readonly T[]): T[] => rows.filter((row) => isLink(row) !== isOfMany)
      await addTo(sql, 'hour', some(inHours))
      await addTo(sql, 'day', some(inDays))
      await addVisitors(sql, some(seen))
    }
  }

/** Whose a link's visits are, besides its own. A link that is gone has nobody who could ask. */
async function ownersOf(sql: Sql, ids: readonly number[]): Promise<Map<number, readonly string[]>> {
  const rows = await sql.query<{ id: number; tenant: string; tags: readonly number[] }>(
    `select id, ${tenantSubject('links.tenant')} as tenant, array(select tag_id::float8 from link_tags where link_id = id) as tags
     from links where id = any ($1)`,
    [ids],
  )
  return new Map(rows.map(({ id, tenant, tags }) => [id, [subjectOf.link(id), ...tags.map(subjectOf.tag), tenant]]))
}

/** The day of each hour. Hours for which there are no rows, because a clock was wrong or a spool is very old, have none. */
async function daysOf(sql: Sql, timeZone: string, hours: readonly HourOfVisits[]): Promise<Map<number, number>> {
  const rows = await sql.query<{ hour: Date; day: Date }>(
    `select hour, ql_full_hour(date_trunc('day', hour, $2)) as day from unnest($1::timestamptz[]) as hour
     where hour between ql_now() - make_interval(days => $3) and ql_now() + make_interval(days => $4)`,
    [hours.map(({ hourMs }) => new Date(hourMs)), timeZone, limits.visitsLateDays, limits.visitsAheadDays],
  )
  return new Map(rows.map(({ hour, day }) => [hour.getTime(), day.getTime()]))
}

function count(row: More, visits: LinkVisits): void {
  for (const figure of figures) row[figure] += visits[figure]
  for (const [dimension, value, total, people] of visits.cells)
    add((row.cells[dimension] ??= cellsOf()), value, total, people)
}

/** Also that there were some whom nobody could count. Where nothing was looked at the totals say so. */
const tellsOfVisitors = ({ visitors, atLeast, detailed }: LinkVisits): boolean =>
  visitors !== undefined || (atLeast && detailed > 0)

function see(day: VisitorsOfDay, { visitors, atLeast }: LinkVisits): void {
  day.atLeast ||= atLeast
  for (const [index, rank] of (visitors && decode(visitors)) ?? []) {
    if (rank > (day.ranks.get(index) ?? 0)) day.ranks.set(index, rank)
  }
}

async function addVisitors(sql: Sql, days: readonly VisitorsOfDay[]): Promise<void> {
  const columns = 'registers, at_least as "atLeast"'
  for await (const some of locked<VisitorsOfDay, { registers: Buffer | null; atLeast: boolean }>(
    sql,
    'visit_visitors',
    days,
    columns,
  )) {
    const changed = some.flatMap(([day, kept]) => {
      const more = encode(Array.from(day.ranks, ([index, rank]) => (index << 6) | rank))
      const registers = kept?.registers ? Buffer.from(merge(kept.registers, more)) : Buffer.from(more)
      // Who came again changes nothing.
      const isSame = kept?.registers?.equals(registers) === true && (kept.atLeast || !day.atLeast)
      return isSame ? [] : [{ ...day, registers }]
    })
    await write(
      sql,
      'visit_visitors',
      'registers = more.registers, at_least = row.at_least or more.at_least',
      changed,
      [
        { name: 'registers', type: 'bytea', of: changed.map(({ registers }) => registers) },
        { name: 'at_least', type: 'boolean', of: changed.map(({ atLeast }) => atLeast) },
      ],
    )
  }
}
