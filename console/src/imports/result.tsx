// What becomes of a file: told while it is worked off, and afterwards.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { answerOf, api, done } from '../api.ts'
import { Act } from '../parts/act.tsx'
import { Loading, Panel, Problem, Waiting } from '../parts/page.tsx'
import { toast, useComplaint } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import { useFormats } from '../words/words.tsx'
import type { Import } from './send.ts'
import { useImportWords } from './words.ts'

const askEveryMs = 1000
const isOver = ({ state }: Pick<Import, 'state'>): boolean => state === 'done' || state === 'failed'

interface ResultProps {
  readonly id: string
  /** The same file once more, and no try: where it is still at hand. */
  readonly onForReal: (() => void) | undefined
  readonly onForgotten: () => void
}

export function Result({ id, onForReal, onForgotten }: ResultProps) {
  const words = useImportWords()
  const queries = useQueryClient()
  const found = useQuery({
    queryKey: ['imports', id],
    queryFn: () => answerOf(api.GET('/imports/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state: { data } }) => (data && isOver(data) ? false : askEveryMs),
  })
  const over = found.data !== undefined && isOver(found.data)
  useEffect(() => {
    if (!over) return
    for (const changed of ['links', 'tags', 'imports']) void queries.invalidateQueries({ queryKey: [changed], exact: changed === 'imports' }) // prettier-ignore
  }, [over])
  if (found.isPending) return <Panel title={words.made}><Loading /></Panel> // prettier-ignore
  if (found.isError) return <Waiting of={found} />
  const { dryRun, refused, created } = found.data
  return (
    <Panel title={dryRun ? words.tried : words.made} aside={<Forget id={id} onForgotten={onForgotten} />}>
      <Figures found={found.data} />
      {found.data.failure !== null && <Problem>{found.data.failure}</Problem>}
      {over && refused > 0 && (
        <p>
          <a href={`/api/v1/imports/${id}/refused`} download={`refused-${id}.csv`}>
            {words.download}
          </a>{' '}
          <span className="about">{words.downloadAbout}</span>
        </p>
      )}
      {over && dryRun && created + found.data.replaced > 0 && onForReal && (
        <div className="row">
          <Act className="button strong" onPress={onForReal}>
            {words.goOn}
          </Act>
        </div>
      )}
      {found.data.warnings.length > 0 && <Warnings warnings={found.data.warnings} />}
    </Panel>
  )
}

function Figures({ found }: { readonly found: Import }) {
  const words = useImportWords()
  const formats = useFormats()
  const { dryRun, state, rows, created, replaced, skipped, refused, warned } = found
  const worked = created + replaced + skipped + refused
  const figures = [
    [words.rows, rows],
    [dryRun ? words.wouldCreate : words.created, created],
    [dryRun ? words.wouldReplace : words.replaced, replaced],
    [words.skipped, skipped],
    [words.refused, refused],
    [words.warned, warned],
  ] as const
  return (
    <>
      <p role="status">
        <strong>{words.states[state]}</strong>{' '}
        <span className="about">
          {words.recognised} {found.format}
        </span>
      </p>
      {!isOver(found) && (
        <div className="meter">
          <progress value={rows === 0 ? 0 : worked} max={rows || 1} aria-label={words.progress} />
        </div>
      )}
      <dl className="counts">
        {figures.map(([name, n]) => (
          <div key={name} data-none={n === 0 || undefined}>
            <dt>{name}</dt>
            <dd className="figure">{formats.count(n)}</dd>
          </div>
        ))}
      </dl>
    </>
  )
}

function Warnings({ warnings }: Pick<Import, 'warnings'>) {
  const words = useImportWords()
  return (
    <details className="hint">
      <summary>
        {words.warnings} ({warnings.length})
      </summary>
      <ul className="rows">
        {warnings.map(({ line, code, reason }, n) => (
          <li key={n}>
            <div>
              <strong>{code ?? words.line(line)}</strong>
              <span className="about">
                {words.line(line)}: {reason}
              </span>
            </div>
          </li>
        ))}
      </ul>
    </details>
  )
}

function Forget({ id, onForgotten }: Pick<ResultProps, 'id' | 'onForgotten'>) {
  const words = useImportWords()
  const { may } = useMe()
  const queries = useQueryClient()
  const forget = useMutation({
    mutationFn: () => done(api.DELETE('/imports/{id}', { params: { path: { id } } })),
    onSuccess: () => {
      onForgotten()
      toast({ text: words.forgotten })
      queries.removeQueries({ queryKey: ['imports', id] })
      return queries.invalidateQueries({ queryKey: ['imports'], exact: true })
    },
    onError: useComplaint(),
  })
  if (!may('editor')) return null
  return (
    <Act className="button small" isPending={forget.isPending} onPress={() => forget.mutate()}>
      {words.forget}
    </Act>
  )
}
