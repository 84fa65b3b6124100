// Who followed a link, the links of a tag, or those of a tenant.
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { lazy, Suspense, type ReactNode } from 'react'
import { Link as To } from 'wouter'
import { localOf, timeOf } from '../link/draft.ts'
import { pathOfLink } from '../links/shorten.tsx'
import { Act } from '../parts/act.tsx'
import { Choice, Field } from '../parts/fields.tsx'
import { Empty, Loading, Page, Panel, Waiting } from '../parts/page.tsx'
import { saveFile } from '../parts/save-file.ts'
import { useComplaint } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import '../styles/stats.css'
import { useFormats } from '../words/words.tsx'
import { askedOf, askStats, askTable, dimensions, spans, useStatsQuery, type Stats, type StatsQuery } from './query.ts'
import { Values } from './values.tsx'
import { useStatsWords } from './words.ts'
import { Figures } from './figures.tsx'

const Chart = lazy(() => import('./chart.tsx'))

export default function StatsPage() {
  const words = useStatsWords()
  const { query, change } = useStatsQuery()
  const { title, lead } = useHeading(query)
  const stats = useQuery({
    queryKey: ['stats', query],
    queryFn: () => askStats(query, askedOf(query, Date.now())),
    placeholderData: keepPreviousData,
  })
  return (
    <Page title={title} lead={lead} actions={<Table query={query} />}>
      <Controls query={query} change={change} stats={stats.data} />
      <Waiting of={stats} />
      {stats.data && (
        <div className={stats.isPlaceholderData ? 'stats stale' : 'stats'} aria-busy={stats.isPlaceholderData}>
          <Figures stats={stats.data} />
          {stats.data.total === 0 && stats.data.before.total === 0 ? (
            <Empty title={words.none} about={words.noneAbout} />
          ) : (
            <Shown query={query} change={change} stats={stats.data} />
          )}
          {stats.data.notes.map((note) => (
            <p key={note} className="about">
              {note}
            </p>
          ))}
        </div>
      )}
    </Page>
  )
}

function useHeading({ code, domain, tag, tenant }: StatsQuery): { title: string; lead: ReactNode } {
  const words = useStatsWords()
  const me = useMe()
  if (code !== undefined) {
    const link = { code, domain: domain ?? null }
    return { title: words.ofLink(domain === undefined ? code : `${domain}/${code}`), lead: <To to={pathOfLink(link)}>{words.toLink}</To> } // prettier-ignore
  }
  if (tag !== undefined) return { title: words.ofTag(tag), lead: <To to={`/?tag=${encodeURIComponent(tag)}`}>{words.toLinks}</To> } // prettier-ignore
  return { title: words.ofTenant(tenant ?? me.tenant), lead: words.lead }
}

/** The same figures, for spreadsheets. */
function Table({ query }: { readonly query: StatsQuery }) {
  const words = useStatsWords()
  const save = useMutation({
    mutationFn: () => askTable(query, askedOf(query, Date.now())),
    onSuccess: (table) => saveFile(table, `stats-${query.code ?? query.tag ?? query.tenant ?? 'all'}.csv`),
    onError: useComplaint(),
  })
  return (
    <Act className="button" isPending={save.isPending} onPress={() => save.mutate()}>
      {words.csv}
    </Act>
  )
}

interface ControlsProps {
  readonly query: StatsQuery
  readonly change: ReturnType<typeof useStatsQuery>['change']
  readonly stats: Stats | undefined
}

function Controls({ query, change, stats }: ControlsProps) {
  const words = useStatsWords()
  const { span, from, to } = query
  const own = (changed: { readonly from?: string | null; readonly to?: string | null }): void => {
    const [first, last] = [changed.from ?? from, changed.to ?? to]
    if (first && last && first < last) change({ span: undefined, from: first, to: last })
  }
  return (
    <div className="filters">
      <Choice
        label={words.span}
        isLabelHidden
        value={span ?? 'own'}
        options={[...spans.map((each) => [each, words.spans[each]] as const), ['own', words.own] as const]}
        onChange={(next) =>
          next === 'own'
            ? change({ span: undefined, from: stats?.from, to: stats?.to })
            : change({ span: next, from: undefined, to: undefined })
        }
      />
      <Choice
        label={words.counted}
        isLabelHidden
        value={query.people ? 'people' : 'all'}
        options={[
          ['all', words.all],
          ['people', words.people],
        ]}
        onChange={(next) => change({ people: next === 'people' ? 'true' : undefined })}
      />
      {span === undefined && (
        <div className="pair own-time">
          <Field label={words.from} type="datetime-local" value={localOf(from ?? null)} onChange={(text) => own({ from: timeOf(text) })} />
          <Field label={words.to} type="datetime-local" value={localOf(to ?? null)} onChange={(text) => own({ to: timeOf(text) })} />
        </div>
      )}
    </div>
  ) // prettier-ignore
}

function Shown({ query, change, stats }: ControlsProps & { readonly stats: Stats }) {
  const words = useStatsWords()
  const { before } = stats
  const past = useQuery({
    queryKey: ['stats', query, before],
    queryFn: () => askStats(query, { ...askedOf(query, Date.now()), from: before.from, to: before.to, by: stats.by }),
    enabled: before.total > 0,
  })
  const shown = query.people ? peopleOnly(stats.series) : stats.series
  const earlier = past.data && (query.people ? peopleOnly(past.data.series) : past.data.series)
  return (
    <>
      <Panel title={words.overTime}>
        <Suspense fallback={<Loading />}>
          <Chart
            stats={{ ...stats, series: shown }}
            before={earlier}
            onRange={(from, to) => change({ span: undefined, from, to })}
          />
        </Suspense>
        <SeriesTable stats={stats} />
      </Panel>
      <Panel
        title={words.top}
        aside={
          <Choice
            label={words.dimension}
            isLabelHidden
            value={query.dimension}
            options={dimensions.map((each) => [each, words.dimensions[each]] as const)}
            onChange={(dimension) => change({ dimension })}
          />
        }
      >
        <Values stats={stats} people={query.people} />
        {stats.sampled && <Sampled stats={stats} />}
      </Panel>
    </>
  )
}

const peopleOnly = (series: Stats['series']): Stats['series'] => series.map(({ at, people }) => ({ at, people, total: people })) // prettier-ignore

function Sampled({ stats: { detailed, total } }: { readonly stats: Stats }) {
  const words = useStatsWords()
  const formats = useFormats()
  return <p className="about">{words.sampled(formats.count(detailed), formats.count(total))}</p>
}

function SeriesTable({ stats: { series, by } }: { readonly stats: Stats }) {
  const words = useStatsWords()
  const formats = useFormats()
  return (
    <details className="hint">
      <summary>{words.table}</summary>
      <div className="scroll tall" tabIndex={0} role="region" aria-label={words.table}>
        <table className="plain">
          <thead>
            <tr>
              <th scope="col">{words.at[by]}</th>
              <th scope="col">{words.visits}</th>
              <th scope="col">{words.peopleName}</th>
              <th scope="col">{words.bots}</th>
            </tr>
          </thead>
          <tbody>
            {series.map(({ at, total, people }) => (
              <tr key={at}>
                <td>{by === 'hour' ? formats.time(at) : formats.day(at)}</td>
                <td>{formats.count(total)}</td>
                <td>{formats.count(people)}</td>
                <td>{formats.count(total - people)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
