// My account: the sessions of whoever is signed in, and what this browser shows.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Button } from 'react-aria-components/Button'
import { answerOf, api, done } from '../api.ts'
import { Page, Panel, Waiting } from '../parts/page.tsx'
import { toast, useComplaint } from '../parts/toasts.tsx'
import { useMe, useSession } from '../session.tsx'
import { pageState } from '../state.ts'
import { useFormats, useWords } from '../words/words.tsx'
import { Language, ThemeChoice } from './choices.tsx'
import { Act } from '../parts/act.tsx'

export default function Account() {
  const words = useWords()
  const { name, tenant, role, may } = useMe()
  const { signOut } = useSession()
  return (
    <Page
      title={words.account.title}
      lead={words.account.lead({ name, tenant, role: words.roles[role] })}
      actions={
        <Button className="button" onPress={() => void signOut()}>
          {words.shell.signOut}
        </Button>
      }
    >
      <Panel title={words.account.browser}>
        <div className="row wrap">
          <Language />
          <ThemeChoice />
        </div>
      </Panel>
      <SessionsPanel />
      {may('editor') && <Bookmarklet />}
    </Page>
  )
}

function SessionsPanel() {
  const words = useWords()
  const formats = useFormats()
  const queries = useQueryClient()
  const { forget } = useSession()
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: () => answerOf(api.GET('/sessions')) })
  const onError = useComplaint()
  const end = useMutation({
    mutationFn: (id: string) => done(api.DELETE('/sessions/{id}', { params: { path: { id } } })),
    onSuccess: () => {
      toast({ text: words.account.ended })
      return queries.invalidateQueries({ queryKey: ['sessions'] })
    },
    onError,
  })
  const endAll = useMutation({ mutationFn: () => done(api.DELETE('/sessions')), onSuccess: forget, onError })
  return (
    <Panel
      title={words.account.sessions}
      aside={
        <Act className="button small" isPending={endAll.isPending} onPress={() => endAll.mutate()}>
          {words.account.endAll}
        </Act>
      }
    >
      <p className="about">{words.account.sessionsAbout}</p>
      <Waiting of={sessions} />
      <ul className="rows">
        {sessions.data?.items.map(({ id, createdAt, usedAt, endsAt, current }) => (
          <li key={id}>
            <div>
              <strong>{current ? words.account.thisOne : words.account.another(formats.time(createdAt))}</strong>
              <span className="about">{words.account.used(formats.time(usedAt), formats.time(endsAt))}</span>
            </div>
            {!current && (
              <Button className="button small" onPress={() => end.mutate(id)}>
                {words.account.end}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Bookmarklet() {
  const words = useWords()
  const code = `javascript:void open('${pageState.publicUrl}/console/new?url='+encodeURIComponent(location.href))`
  return (
    <Panel title={words.account.bookmarklet}>
      <p>{words.account.bookmarkletAbout}</p>
      <textarea className="input code" readOnly rows={2} value={code} aria-label={words.account.bookmarklet} />
    </Panel>
  )
}
