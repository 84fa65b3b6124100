// For the owner: what each tier would answer with, and how to make all of them ask anew.
import { useMutation, useQuery } from '@tanstack/react-query'
import { answerOf, api, linkKey, named, type Link, type Schemas } from '../api.ts'
import { Panel, Waiting } from '../parts/page.tsx'
import { toast, useComplaint } from '../parts/toasts.tsx'
import { useWords } from '../words/words.tsx'
import { Act } from '../parts/act.tsx'

type Caches = Schemas['Caches']

export function CachesPanel({ link }: { readonly link: Pick<Link, 'code' | 'domain'> }) {
  const words = useWords()
  const caches = useQuery({
    queryKey: [...linkKey(link), 'caches'],
    queryFn: () => answerOf(api.GET('/cache/{code}', { params: named(link) })),
  })
  const forget = useMutation({
    mutationFn: () =>
      answerOf(
        api.POST('/cache/invalidate', {
          body: { code: link.code, ...(link.domain === null ? {} : { domain: link.domain }) },
        }),
      ),
    onSuccess: () => {
      toast({ text: words.caches.forgotten })
      return caches.refetch()
    },
    onError: useComplaint(),
  })
  return (
    <Panel
      title={words.caches.title}
      aside={
        <Act className="button small" isPending={forget.isPending} onPress={() => forget.mutate()}>
          {words.caches.forget}
        </Act>
      }
    >
      <Waiting of={caches} />
      {caches.data && <Ladder caches={caches.data} />}
    </Panel>
  )
}

interface Held {
  readonly url?: string
  readonly version?: number
  readonly absent?: true
}

function Ladder({ caches: { tier1, redis, postgres } }: { readonly caches: Caches }) {
  const words = useWords()
  const truth = postgres?.version
  const holds = (held: Held | null): string => {
    if (held === null || (held.absent === undefined && held.version === undefined)) return words.caches.nothing
    if (held.absent) return words.caches.absent
    return words.caches.version(held.version ?? 0)
  }
  const isBehind = (held: Held | null): boolean =>
    held?.version !== undefined && truth !== undefined && held.version < truth
  const rows = [
    { name: words.caches.tier1, held: tier1, about: tier1 && (tier1.vouched ? words.caches.vouched : words.caches.age(tier1.ageMs)) },
    { name: 'Redis', held: redis, about: redis === null ? words.caches.off : redis.trusted ? words.caches.trusted : words.caches.untrusted },
    { name: 'Postgres', held: postgres, about: words.caches.truth },
  ] // prettier-ignore
  return (
    <ol className="ladder">
      {rows.map(({ name, held, about }) => (
        <li key={name} data-behind={isBehind(held) || undefined}>
          <strong>{name}</strong>
          <span>{holds(held)}</span>
          {about !== null && <span className="about">{isBehind(held) ? words.caches.behind : about}</span>}
        </li>
      ))}
    </ol>
  )
}
