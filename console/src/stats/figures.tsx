// The sums, each beside what it was in the period before.
import { useFormats } from '../words/words.tsx'
import type { Stats } from './query.ts'
import { useStatsWords } from './words.ts'

export function Figures({ stats }: { readonly stats: Stats }) {
  const words = useStatsWords()
  const formats = useFormats()
  const { total, people, before, visitors, dailyVisitors, atLeast } = stats
  const change = (now: number, then: number): string => {
    if (then === 0) return words.noneBefore
    const share = (now - then) / then
    return words.change(`${share > 0 ? '+' : ''}${formats.share(share)}`, formats.count(then))
  }
  const different = visitors ?? dailyVisitors ?? 0
  const figures = [
    { name: words.visits, n: formats.count(total), about: change(total, before.total) },
    { name: words.peopleName, n: formats.count(people), about: change(people, before.people) },
    {
      name: words.bots,
      n: formats.count(total - people),
      about: words.shareOf(formats.share(total === 0 ? 0 : (total - people) / total)),
    },
    {
      name: visitors === undefined ? words.dailyVisitors : words.visitors,
      n: atLeast ? words.atLeast(formats.count(different)) : formats.count(different),
      about: visitors === undefined ? words.dailyAbout : words.visitorsAbout,
    },
  ]
  return (
    <dl className="figures">
      {figures.map(({ name, n, about }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className="figure">{n}</dd>
          <dd className="about">{about}</dd>
        </div>
      ))}
    </dl>
  )
}
