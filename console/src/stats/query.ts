// Whose visits a page shows, of which time, and by what: all of it is in the address.
import { useSearchParams } from 'wouter'
import { answerOf, api, ProblemError, type Schemas } from '../api.ts'

export const spans = ['24h', '7d', '30d', '90d', '12m'] as const
type Span = (typeof spans)[number]
export const dimensions = ['referrer', 'utm_source', 'utm_medium', 'utm_campaign', 'country', 'browser', 'os', 'device', 'language', 'target', 'bot'] as const // prettier-ignore
export type Dimension = (typeof dimensions)[number]
export type Stats = Schemas['Stats']

interface Subject {
  readonly code: string | undefined
  readonly domain: string | undefined
  readonly tag: string | undefined
  readonly tenant: string | undefined
}

export interface StatsQuery extends Subject {
  /** undefined: a time of its own. */
  readonly span: Span | undefined
  readonly from: string | undefined
  readonly to: string | undefined
  readonly dimension: Dimension
  readonly people: boolean
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

const timeIn = (text: string | null): string | undefined => {
  const ms = text === null ? NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}

export function readStatsQuery(params: URLSearchParams): StatsQuery {
  const text = (name: string): string | undefined => params.get(name) || undefined
  const [from, to] = [timeIn(params.get('from')), timeIn(params.get('to'))]
  const isOwn = from !== undefined && to !== undefined && from < to
  return {
    code: text('code'),
    domain: text('domain'),
    tag: text('tag'),
    tenant: text('tenant'),
    span: isOwn ? undefined : (spans.find((span) => span === params.get('span')) ?? '30d'),
    from: isOwn ? from : undefined,
    to: isOwn ? to : undefined,
    dimension: dimensions.find((each) => each === params.get('dimension')) ?? 'referrer',
    people: params.get('people') === 'true',
  }
}

type Name = 'span' | 'from' | 'to' | 'dimension' | 'people'

export function useStatsQuery() {
  const [params, setParams] = useSearchParams()
  const change = (next: Partial<Record<Name, string | undefined>>): void =>
    setParams((before) => {
      const changed = new URLSearchParams(before)
      for (const [name, value] of Object.entries<string | undefined>(next)) {
        if (value === undefined) changed.delete(name)
        else changed.set(name, value)
      }
      return changed
    })
  return { query: readStatsQuery(params), change }
}

/** The address of a page of statistics. */
export const statsOf = (subject: Partial<Record<keyof Subject, string | null>>): string => {
  const said = Object.entries(subject).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return `/stats${said.length === 0 ? '' : `?${new URLSearchParams(said).toString()}`}`
}

/** Whole days of the browser's zone, today's among them. */
function timesOf(span: Span, nowMs: number): { from: Date; to: Date } {
  const to = new Date(nowMs)
  if (span === '24h') return { from: new Date(Math.floor(nowMs / hourMs) * hourMs - 23 * hourMs), to }
  const from = new Date(nowMs)
  from.setHours(0, 0, 0, 0)
  if (span === '12m') from.setFullYear(from.getFullYear() - 1)
  else from.setDate(from.getDate() - ({ '7d': 7, '30d': 30, '90d': 90 }[span] - 1))
  return { from, to }
}

/** A chart of at most some hundred bars. */
function unitOf(from: Date, to: Date): Stats['by'] {
  const days = (to.getTime() - from.getTime()) / dayMs
  return days <= 3 ? 'hour' : days <= 120 ? 'day' : days <= 800 ? 'week' : 'month'
}

export function askedOf(query: StatsQuery, nowMs: number) {
  const { from, to } = query.span === undefined ? { from: new Date(query.from!), to: new Date(query.to!) } : timesOf(query.span, nowMs) // prettier-ignore
  return {
    from: from.toISOString(),
    to: to.toISOString(),
    by: unitOf(from, to),
    tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
    dimension: query.dimension,
    people: query.people,
  }
}

/** As a table for spreadsheets, or as figures. */
function ask({ code, domain, tag, tenant }: Subject, asked: ReturnType<typeof askedOf>, as: 'json' | 'blob') {
  const how = as === 'blob' ? ({ headers: { Accept: 'text/csv' }, parseAs: 'blob' } as const) : {}
  if (code !== undefined) {
    const query = { ...asked, ...(domain === undefined ? {} : { domain }) }
    return answerOf<unknown>(api.GET('/links/{code}/stats', { params: { path: { code }, query }, ...how }))
  }
  const query = { ...asked, ...(tenant === undefined ? {} : { tenant }) }
  if (tag === undefined) return answerOf<unknown>(api.GET('/stats', { params: { query }, ...how }))
  return answerOf<unknown>(api.GET('/tags/{tag}/stats', { params: { path: { tag }, query }, ...how }))
}

const isStats = (answer: unknown): answer is Stats =>
  typeof answer === 'object' && answer !== null && 'series' in answer

export async function askStats(subject: Subject, asked: ReturnType<typeof askedOf>): Promise<Stats> {
  const answer = await ask(subject, asked, 'json')
  if (!isStats(answer)) throw new ProblemError({ code: 'strange', detail: '' })
  return answer
}

export async function askTable(subject: Subject, asked: ReturnType<typeof askedOf>): Promise<Blob> {
  const answer = await ask(subject, asked, 'blob')
  if (!(answer instanceof Blob)) throw new ProblemError({ code: 'strange', detail: '' })
  return answer
}
