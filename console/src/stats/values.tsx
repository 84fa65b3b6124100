// The values of a dimension: a table whose rows have bars in them, so that what is drawn and what is read is one thing.
import { useFormats, useSpeech } from '../words/words.tsx'
import type { Dimension, Stats } from './query.ts'
import { useStatsWords } from './words.ts'

interface Row {
  readonly name: string
  readonly total: number
  readonly people: number
  readonly error: number
  /** Not a value that somebody sent: what is left over. */
  readonly isRest: boolean
}

export function Values({ stats, people }: { readonly stats: Stats; readonly people: boolean }) {
  const words = useStatsWords()
  const formats = useFormats()
  const nameOf = useNames(stats.dimension)
  const rest = (name: string, { total, people }: { total: number; people: number }): Row[] =>
    total === 0 ? [] : [{ name, total, people, error: 0, isRest: true }]
  const rows: readonly Row[] = [
    ...stats.top.map(({ value, ...counts }) => ({ name: nameOf(value), isRest: false, ...counts })),
    ...rest(words.other, stats.other),
    ...rest(stats.dimension === 'referrer' ? words.direct : words.unknown, stats.unknown),
    ...rest(words.withheld, { total: stats.withheld, people: stats.withheld }),
  ]
  const most = Math.max(1, ...rows.map((row) => (people ? row.people : row.total)))
  const part = (n: number): string => `${(100 * n) / most}%`
  return (
    <table className="values">
      <thead>
        <tr>
          <th scope="col">{words.dimensions[stats.dimension]}</th>
          <th scope="col">{words.visits}</th>
          <th scope="col">{words.peopleName}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, total, people: persons, error, isRest }, n) => (
          <tr key={n} data-rest={isRest || undefined}>
            <th scope="row">
              <span>{name}</span>
              <span className="bar" aria-hidden="true">
                <i data-series="people" style={{ width: part(persons) }} />
                {!people && <i data-series="bots" style={{ width: part(total - persons) }} />}
              </span>
            </th>
            <td>
              {formats.count(total)}
              {error > 0 && <span className="about"> {words.error(formats.count(error))}</span>}
            </td>
            <td>{formats.count(persons)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Codes of countries and languages, as people call them. */
function useNames(dimension: Dimension): (value: string) => string {
  const { language } = useSpeech()
  const type = { country: 'region', language: 'language' }[dimension as string] as Intl.DisplayNamesType | undefined
  if (type === undefined) return (value) => value
  const names = new Intl.DisplayNames(language, { type })
  return (value) => {
    try {
      return names.of(value) ?? value
    } catch {
      // What a visitor has sent is not always a code.
      return value
    }
  }
}
