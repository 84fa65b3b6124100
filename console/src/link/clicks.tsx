// How often a link was followed, day by day: as bars, and as a table for who wants the numbers.
import { useQuery } from '@tanstack/react-query'
import { Link as To } from 'wouter'
import { answerOf, api, linkKey, named, type Link } from '../api.ts'
import { Panel, Waiting } from '../parts/page.tsx'
import { statsOf } from '../stats/query.ts'
import { useFormats, useWords } from '../words/words.tsx'

const days = 30
const dayMs = 86_400_000

/** Of the last days, the empty ones among them. */
function daysOf(buckets: readonly { readonly at: string; readonly clicks: number }[], todayMs: number) {
  const byDay = new Map(buckets.map(({ at, clicks }) => [at.slice(0, 10), clicks]))
  return Array.from({ length: days }, (_, n) => {
    const at = new Date(todayMs - (days - 1 - n) * dayMs).toISOString()
    return { at, clicks: byDay.get(at.slice(0, 10)) ?? 0 }
  })
}

export function ClicksPanel({ link }: { readonly link: Link }) {
  const words = useWords()
  const formats = useFormats()
  const todayMs = Math.floor(Date.now() / dayMs) * dayMs
  const clicks = useQuery({
    queryKey: [...linkKey(link), 'clicks', todayMs],
    queryFn: () =>
      answerOf(
        api.GET('/links/{code}/clicks', {
          params: {
            ...named(link),
            query: { ...named(link).query, by: 'day', from: new Date(todayMs - (days - 1) * dayMs).toISOString() },
          },
        }),
      ),
  })
  const shown = clicks.data ? daysOf(clicks.data.buckets, todayMs) : []
  return (
    <Panel
      title={words.clicks.title}
      aside={clicks.data && <strong className="figure">{formats.count(clicks.data.total)}</strong>}
    >
      <Waiting of={clicks} />
      <To to={statsOf({ code: link.code, domain: link.domain })}>{words.clicks.more}</To>
      {clicks.data?.total === 0 && <p className="about">{words.clicks.none}</p>}
      {clicks.data !== undefined && clicks.data.total > 0 && (
        <>
          <Bars bars={shown} />
          <details className="hint">
            <summary>{words.clicks.table}</summary>
            <table className="plain">
              <thead>
                <tr>
                  <th scope="col">{words.clicks.day}</th>
                  <th scope="col">{words.columns.clicks}</th>
                </tr>
              </thead>
              <tbody>
                {shown
                  .filter((day) => day.clicks > 0)
                  .map((day) => (
                    <tr key={day.at}>
                      <td>{formats.day(day.at)}</td>
                      <td>{formats.count(day.clicks)}</td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </details>
        </>
      )}
    </Panel>
  )
}

function Bars({ bars }: { readonly bars: readonly { readonly at: string; readonly clicks: number }[] }) {
  const words = useWords()
  const formats = useFormats()
  const most = Math.max(1, ...bars.map(({ clicks }) => clicks))
  const [first, last] = [bars[0], bars.at(-1)]
  return (
    <figure className="bars">
      <svg
        viewBox={`0 0 ${bars.length * 10} 60`}
        preserveAspectRatio="none"
        role="img"
        aria-label={words.clicks.picture(days, formats.count(most))}
      >
        {bars.map(({ at, clicks }, n) => {
          const height = clicks === 0 ? 1 : Math.max(2, (clicks / most) * 60)
          return (
            <rect
              key={at}
              x={n * 10 + 1}
              y={60 - height}
              width="8"
              height={height}
              data-none={clicks === 0 || undefined}
            >
              <title>{`${formats.day(at)}: ${formats.count(clicks)}`}</title>
            </rect>
          )
        })}
      </svg>
      <figcaption className="row between about">
        <span>{first && formats.day(first.at)}</span>
        <span>{last && formats.day(last.at)}</span>
      </figcaption>
    </figure>
  )
}
