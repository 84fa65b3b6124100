// Who did what: the log of one's tenant, or the history of one link.
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link as To } from 'wouter'
import { answerOf, api, ProblemError, type Link, type Schemas } from '../api.ts'
import { pathOfLink } from '../links/shorten.tsx'
import { More, Page, Panel, Waiting } from '../parts/page.tsx'
import { useFormats, useWords } from '../words/words.tsx'

type Entry = Schemas['AuditEntry']

export default function Audit() {
  const words = useWords()
  return (
    <Page title={words.shell.audit} lead={words.audit.lead}>
      <AuditPanel title={words.shell.audit} />
    </Page>
  )
}

async function pageOf(of: object, limit: number, cursor: string): Promise<Schemas['AuditPage']> {
  const query = { ...of, limit, ...(cursor === '' ? {} : { cursor }) }
  const page = await answerOf(api.GET('/audit', { params: { query } }))
  // As text it comes to those who ask for lines.
  if (typeof page === 'string') throw new ProblemError({ code: 'strange', detail: '' })
  return page
}

export function AuditPanel({ title, link }: { readonly title: string; readonly link?: Pick<Link, 'code' | 'domain'> }) {
  const words = useWords()
  const of = link === undefined ? {} : { code: link.code, ...(link.domain === null ? {} : { domain: link.domain }) }
  const entries = useInfiniteQuery({
    queryKey: ['audit', of],
    queryFn: ({ pageParam }) => pageOf(of, link === undefined ? 50 : 10, pageParam),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    // It grows by what is done elsewhere on the page.
    staleTime: 0,
  })
  const items = entries.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <Panel title={title}>
      <Waiting of={entries} />
      {entries.data && items.length === 0 && <p className="about">{words.audit.none}</p>}
      <ul className="rows">
        {items.map((entry) => (
          <Row key={entry.id} entry={entry} hasTarget={link === undefined} />
        ))}
      </ul>
      <More of={entries}>{words.audit.more}</More>
    </Panel>
  )
}

const mostChars = 120

const shown = (value: unknown): string => {
  const text = typeof value === 'string' ? value : value === undefined || value === null ? '–' : JSON.stringify(value)
  return text.length > mostChars ? `${text.slice(0, mostChars)}…` : text
}

function Row({ entry, hasTarget }: { readonly entry: Entry; readonly hasTarget: boolean }) {
  const words = useWords()
  const formats = useFormats()
  const { target, by, action, at, address, changes } = entry
  return (
    <li>
      <div>
        <span>
          <strong>{(words.audit.actions as Partial<Record<string, string>>)[action] ?? action}</strong>{' '}
          {hasTarget &&
            (target.kind === 'link' ? (
              <To to={pathOfLink({ code: target.id, domain: target.domain })}>{target.id}</To>
            ) : (
              target.id
            ))}
        </span>
        <span className="about">
          {by.name} · <time dateTime={at}>{formats.time(at)}</time>
          {address !== null && ` · ${address}`}
        </span>
        {Object.entries(changes ?? {}).map(([field, { before, after }]) => (
          <span key={field} className="about">
            {field}: {before === undefined ? '' : `${shown(before)} → `}
            {shown(after)}
          </span>
        ))}
      </div>
    </li>
  )
}
