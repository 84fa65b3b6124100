// What is used of a link's month.
import { useQuery } from '@tanstack/react-query'
import { answerOf, api, linkKey, named, type Link } from '../api.ts'
import { useFormats, useWords } from '../words/words.tsx'

export function HitsLine({ link }: { readonly link: Link }) {
  const words = useWords()
  const formats = useFormats()
  const hits = useQuery({
    queryKey: [...linkKey(link), 'hits'],
    queryFn: () => answerOf(api.GET('/links/{code}/hits', { params: named(link) })),
    enabled: link.monthlyHits !== null,
  })
  if (link.monthlyHits === null || hits.data?.limit == null) return null
  const { used, limit, resetsAt } = hits.data
  return (
    <div className="meter">
      <progress value={used} max={limit} aria-label={words.link.hitsUsed} />
      <span className="about">{words.link.hits(formats.count(used), formats.count(limit), formats.day(resetsAt))}</span>
    </div>
  )
}
