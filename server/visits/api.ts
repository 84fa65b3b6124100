// The routes of visits: whose they are, and what is told of them.
import type { z } from 'zod'
import type { ExportTurns } from '../api/export-turns.ts'
import { route, type Asked as AskedOf, type Caller, type Route } from '../api/operation.ts'
import { Turns } from '../api/turns.ts'
import { limits } from '../limits.ts'
import type { Reads } from '../connections/nearest.ts'
import { sqlState, type Sql } from '../connections/postgres.ts'
import type { Names } from '../domains/names.ts'
import { invalid, QuickLinkError } from '../errors.ts'
import { csvLine } from '../links/csv.ts'
import { readLink } from '../links/store.ts'
import { findTag } from '../links/tags.ts'
import { visitExportRoute } from './export.ts'
import type { Terms } from './keep.ts'
import * as operations from './operations.ts'
import type { StatsShown } from './operations.ts'
import { subjectOf, tenantSubject } from './rows.ts'
import { askStats, type Question, type Stats } from './stats.ts'

export interface StatsApiDeps {
  readonly db: Sql
  /** For what may be a little old. */
  readonly figures: Reads
  readonly names: Names
  readonly terms: Terms
  readonly exportTurns: ExportTurns
}

type Asked = z.output<typeof operations.readStats.query>

/** SQLSTATE. Those of VISITS_TZ are known: see boot.ts. */
const unknownZone = '22023'
const unitMs = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000, month: 31 * 86_400_000 } as const
/** As many as a chart can show. */
const bucketsMost = 2200
const rangeMs = 30 * unitMs.day

export function statsRoutes({ db, figures, names, terms, exportTurns }: StatsApiDeps): Route[] {
  const turns = new Turns({
    running: limits.stats,
    waiting: limits.statsWaiting,
    waitingOfTenant: limits.statsWaitingOfTenant,
    what: 'question about visits',
  })
  // One state of the database: what is folded meanwhile is in all of the answer, or in nothing of it.
  const ask = (question: Question): Promise<Stats> =>
    figures.transaction((sql) => {
      void sql.query('set transaction isolation level repeatable read, read only')
      return askStats(sql, terms, question)
    })
  const tell = async (caller: Caller, subject: string, asked: Omit<Asked, 'tenant'>, request: AskedOf['request']) => {
    const question = questionOf(subject, asked, Date.now())
    const stats = await turns
      .in(caller.tenant, () => ask(question))
      .catch((error: unknown) => {
        throw sqlState(error) === unknownZone
          ? invalid('tz', `Postgres does not know the time zone ${asked.tz}.`)
          : error
      })
    const body = present(terms, question, stats)
    if (request.accepts('application/json', 'text/csv') !== 'text/csv') return { body }
    return { type: 'text/csv; charset=utf-8; header=present', parts: () => tableOf(body) }
  }
  return [
    route(operations.readLinkStats, async ({ caller, params, query: { domain, ...asked }, request }) => {
      const link = await readLink(db, names.codeAt(params.code, domain), caller.isOwner ? null : caller.tenant)
      if (!link) throw new QuickLinkError('not_found', `There is no link ${params.code}.`)
      return tell(caller, subjectOf.link(link.id), asked, request)
    }),
    route(operations.readStats, async ({ caller, query: { tenant, ...asked }, request }) => {
      const [row] = await db.query<{ subject: string }>(`select ${tenantSubject('$1')} as subject`, [
        whoseOf(caller, tenant),
      ])
      return tell(caller, row?.subject ?? '', asked, request)
    }),
    route(operations.readTagStats, async ({ caller, params, query: { tenant, ...asked }, request }) => {
      const tag = await findTag(db, whoseOf(caller, tenant), params.tag)
      return tell(caller, subjectOf.tag(tag.id), asked, request)
    }),
    visitExportRoute(exportTurns, names),
  ]
}

/** The owner names whose, or means its own. */
function whoseOf(caller: Caller, tenant = caller.tenant): string {
  if (caller.isOwner || tenant === caller.tenant) return tenant
  throw new QuickLinkError('forbidden', "Only the owner may ask for what is another tenant's.")
}

function questionOf(subject: string, { tz, ...asked }: Omit<Asked, 'tenant'>, nowMs: number): Question {
  const to = asked.to ?? new Date(nowMs)
  const from = asked.from ?? new Date(to.getTime() - rangeMs)
  if (from >= to) throw invalid('from', 'from must be earlier than to.')
  if (to.getTime() - from.getTime() > bucketsMost * unitMs[asked.by]) {
    throw invalid('from', `from and to must not be more than ${bucketsMost} ${asked.by}s apart.`)
  }
  return { ...asked, subject, from, to, timeZone: tz }
}

const dayOf = (at: Date): number => Math.floor(at.getTime() / unitMs.day)
const isOneDay = (from: Date, to: Date): boolean => dayOf(from) === dayOf(new Date(to.getTime() - 1))

function present(terms: Terms, { to, by, timeZone, dimension }: Question, stats: Stats): StatsShown {
  const { from, total, people, withheld, detailed, visitors, atLeast, series, top, other, unknown, before } = stats
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    by,
    tz: timeZone,
    dimension,
    ...{ total, people, withheld, detailed },
    ...(isOneDay(from, to) ? { visitors } : { dailyVisitors: visitors }),
    atLeast,
    sampled: detailed > 0 && detailed < total,
    series: series.map((bucket) => ({ ...bucket, at: bucket.at.toISOString() })),
    ...{ top, other, unknown },
    before: { ...before, from: before.from.toISOString(), to: from.toISOString() },
    notes: notesOf(terms, timeZone, stats),
  }
}

function notesOf({ visitsTz, visitsHoursDays, visitsDaysMonths }: Terms, timeZone: string, stats: Stats): string[] {
  const notes: string[] = []
  if (stats.isShifted)
    notes.push(
      `${timeZone} is shifted by a part of an hour: what is told by the hour belongs to the day in which that hour (of UTC) begins.`,
    )
  if (stats.isOld) {
    const zone = timeZone === visitsTz ? '' : `, by the days and months of ${visitsTz}`
    notes.push(
      `Hours are kept for ${visitsHoursDays} days and days for ${visitsDaysMonths} months: what is older stands at the beginning of its day or month${zone}.`,
    )
  }
  return notes
}

/** What one would draw: the sums, the series, the values. Referrers are strangers' words, which no spreadsheet may take for a formula. */
// eslint-disable-next-line @typescript-eslint/require-await
async function* tableOf(stats: StatsShown): AsyncGenerator<string> {
  const row = (
    what: string,
    at: string,
    value: string,
    { total, people }: { total: number; people: number },
    error = 0,
  ): string => csvLine([what, at, value, String(total), String(people), String(error)])
  yield csvLine(['row', 'at', 'value', 'total', 'people', 'error'])
  yield row('total', stats.from, '', stats)
  yield row('before', stats.before.from, '', stats.before)
  for (const bucket of stats.series) yield row('series', bucket.at, '', bucket)
  for (const value of stats.top) yield row('top', '', value.value, value, value.error)
  yield row('other', '', '', stats.other)
  yield row('unknown', '', '', stats.unknown)
  yield row('withheld', '', '', { total: stats.withheld, people: stats.withheld })
}
