// What is used of a tenant's limits: one's own, or, for the owner, anybody's.
import { useQuery } from '@tanstack/react-query'
import { answerOf, api } from '../api.ts'
import { Panel, Waiting } from '../parts/page.tsx'
import { useFormats, useWords } from '../words/words.tsx'

export function LimitsPanel({ of }: { readonly of?: string }) {
  const words = useWords()
  const formats = useFormats()
  const limits = useQuery({
    queryKey: ['limits', of ?? ''],
    queryFn: () =>
      of === undefined
        ? answerOf(api.GET('/limits'))
        : answerOf(api.GET('/tenants/{id}/limits', { params: { path: { id: of } } })),
  })
  const { links, creates, changes } = limits.data ?? {}
  const rows = [
    { name: words.limits.links, used: links?.used, limit: links?.limit },
    { name: words.limits.creates, used: creates?.used, limit: creates?.limit },
    { name: words.limits.changes, used: changes?.used, limit: changes?.limit },
  ]
  return (
    <Panel title={words.limits.title} aside={limits.data && <span className="badge">{limits.data.tier}</span>}>
      <Waiting of={limits} />
      {limits.data && (
        <dl className="facts">
          {rows.map(({ name, used, limit }) => (
            <div key={name} className="meter">
              <dt>{name}</dt>
              <dd>
                {limit === null || limit === undefined
                  ? used === null || used === undefined
                    ? words.limits.none
                    : words.limits.unlimited(formats.count(used))
                  : words.limits.of(formats.count(used ?? 0), formats.count(limit))}
                {typeof limit === 'number' && <progress value={used ?? 0} max={limit || 1} aria-label={name} />}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  )
}
