// What pages have in common: their heading, and what is said while there is nothing to show yet, or nothing at all.
import { useEffect, type ReactNode } from 'react'
import { Button } from 'react-aria-components/Button'
import { problemOf } from '../api.ts'
import { useWords } from '../words/words.tsx'
import type { Words } from '../words/en.ts'
import { Icon } from './icon.tsx'

interface PageProps {
  readonly title: string
  readonly lead?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Page({ title, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · QuickLink`
  }, [title])
  return (
    <main className="page" id="main" tabIndex={-1}>
      <header className="heading">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p className="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {children}
    </main>
  )
}

export const Panel = ({ title, children, aside }: { title: string; children: ReactNode; aside?: ReactNode }) => (
  <section className="panel" aria-label={title}>
    <div className="panel-head">
      <h2>{title}</h2>
      {aside}
    </div>
    {children}
  </section>
)

export const Empty = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <div className="empty">
    <h2>{title}</h2>
    {children}
  </div>
)

export const Loading = () => {
  const words = useWords()
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{words.loading}</span>
      <i />
      <i />
      <i />
    </div>
  )
}

/** What went wrong, in the server's own sentence where it said one. */
export function sentenceOf(error: unknown, words: Words): string {
  const { code, message } = problemOf(error)
  if (code === 'offline') return words.problems.offline
  if (code === 'strange' || message === '') return words.problems.strange
  return message
}

export const Failed = ({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) => {
  const words = useWords()
  return (
    <div className="notice" role="alert">
      <Icon name="alert" />
      <p>{sentenceOf(error, words)}</p>
      <Button className="button small" onPress={onRetry}>
        {words.again}
      </Button>
    </div>
  )
}
