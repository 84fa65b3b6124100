// The routes of visits: whose they are, and what is told of them.
import type { z } from 'zod'
import { route, type Caller, type Route } from '../api/operation.ts'
import type { Postgres } from '../connections/postgres.ts'
import type { Names } from '../domains/names.ts'
import { invalid, QuickLinkError } from '../errors.ts'
import { readLink } from '../links/store.ts'
import { findTag } from '../links/tags.ts'
import type { Terms } from './keep.ts'
import * as operations from './operations.ts'
import type { StatsShown } from './operations.ts'
import { subjectOf } from './rows.ts'
import { askStats, type Question, type Stats } from './stats.ts'

export interface StatsApiDeps {
  readonly db: Postgres
  readonly names: Names
  readonly terms: Terms
}

type Asked = z.output<typeof operations.readStats.query>

const unitMs = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000, month: 31 * 86_400_000 } as const
/** As many as a chart can show. */
const bucketsMost = 2200
const rangeMs = 30 * unitMs.day

export function statsRoutes({ db, names, terms }: StatsApiDeps): Route[] {
  const tell = async (subject: string, asked: Omit<Asked, 'tenant'>) => {
    const question = questionOf(subject, asked, Date.now())
    // One state of the database: what is folded meanwhile is in all of the answer, or in nothing of it.
    const stats = await db.transaction((sql) => {
      void sql.query('set transaction isolation level repeatable read, read only')
      return askStats(sql, terms, question)
    })
    return { body: present(terms, question, stats) }
  }
  return [
    route(operations.readLinkStats, async ({ caller, params, query: { domain, ...asked } }) => {
      const link = await readLink(db, names.codeAt(params.code, domain), caller.isOwner ? null : caller.tenant)
      if (!link) throw new QuickLinkError('not_found', `There is no link ${params.code}.`)
      return tell(subjectOf.link(link.id), asked)
    }),
    route(operations.readStats, ({ caller, query: { tenant, ...asked } }) =>
      tell(subjectOf.tenant(whoseOf(caller, tenant)), asked),
    ),
    route(operations.readTagStats, async ({ caller, params, query: { tenant, ...asked } }) => {
      const tag = await findTag(db, whoseOf(caller, tenant), params.tag)
      return tell(subjectOf.tag(tag.id), asked)
    }),
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
