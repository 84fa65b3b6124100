// What pages have in common: their heading, and what is said while there is nothing to show yet, or nothing at all.
import { useEffect, type ReactNode, type SyntheticEvent } from 'react'
import { Button } from 'react-aria-components/Button'
import { problemOf } from '../api.ts'
import { useWords } from '../words/words.tsx'
import type { Words } from '../words/en.ts'
import { Act } from './act.tsx'
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

interface EmptyProps {
  readonly title: string
  readonly about: string
  readonly children?: ReactNode
}

export const Empty = ({ title, about, children }: EmptyProps) => (
  <div className="empty">
    <h2>{title}</h2>
    <p>{about}</p>
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

interface NoticeProps {
  readonly text: string
  readonly children?: ReactNode
}

export const Notice = ({ text, children }: NoticeProps) => (
  <div className="notice" role="alert">
    <Icon name="alert" />
    <p>{text}</p>
    {children}
  </div>
)

/** What is wrong with what was typed, or could not be done. */
export const Problem = ({ children }: { readonly children: ReactNode }) => (
  <p className="problem" role="alert">
    {children}
  </p>
)

interface WaitingProps {
  readonly of: {
    readonly isPending: boolean
    readonly error: unknown
    readonly refetch: () => unknown
  }
}

/** In place of what was asked for: while it is not there, and where it could not be had. */
export function Waiting({ of: { isPending, error, refetch } }: WaitingProps) {
  const words = useWords()
  if (isPending) return <Loading />
  if (error === null) return null
  return (
    <Notice text={sentenceOf(error, words)}>
      <Button className="button small" onPress={() => void refetch()}>
        {words.again}
      </Button>
    </Notice>
  )
}

interface MoreProps {
  readonly of: {
    readonly hasNextPage: boolean
    readonly isFetchingNextPage: boolean
    readonly fetchNextPage: () => unknown
  }
  readonly children: string
}

/** The rest of a list, below what is shown of it. */
export const More = ({ of, children }: MoreProps) =>
  of.hasNextPage && (
    <Act className="button small" isPending={of.isFetchingNextPage} onPress={() => void of.fetchNextPage()}>
      {children}
    </Act>
  )

interface FormProps {
  readonly className?: string
  readonly onSubmit: () => void
  readonly children: ReactNode
}

/** What it does is done here, and not by another page. */
export function Form({ onSubmit, ...rest }: FormProps) {
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault()
    onSubmit()
  }
  return <form {...rest} onSubmit={submit} />
}
