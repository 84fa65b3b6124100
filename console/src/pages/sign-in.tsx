import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { useLocation } from 'wouter'
import { answerOf, api } from '../api.ts'
import { Field } from '../parts/fields.tsx'
import { Mark } from '../parts/icon.tsx'
import { Form, Loading, Notice, Page, sentenceOf } from '../parts/page.tsx'
import { useSession } from '../session.tsx'
import { useWords } from '../words/words.tsx'
import { Language, ThemeChoice } from './choices.tsx'
import { Act } from '../parts/act.tsx'

interface SignInProps {
  /** Of a link that signs somebody in. */
  readonly token: string | undefined
  /** It was used, or is not wanted. */
  readonly onDone: () => void
}

export function SignIn({ token, onDone }: SignInProps) {
  const words = useWords()
  const { hasEnded } = useSession()
  return (
    <div className="entrance">
      <header className="brand">
        <Mark />
        <span>QuickLink</span>
      </header>
      <Page title={words.signIn.title}>
        {hasEnded && (
          <p className="notice" role="status">
            {words.signIn.ended}
          </p>
        )}
        {token === undefined ? <Ways /> : <ByLink key={token} token={token} onDone={onDone} />}
      </Page>
      <footer className="row">
        <Language />
        <ThemeChoice />
      </footer>
    </div>
  )
}

function ByLink({ token, onDone }: { readonly token: string; readonly onDone: () => void }) {
  const words = useWords()
  const { signIn } = useSession()
  const [, go] = useLocation()
  const account = useQuery({
    queryKey: ['invitation', token],
    gcTime: 0,
    queryFn: () => answerOf(api.POST('/invitation', { body: { token } })),
  })
  const use = useMutation({
    mutationFn: () => signIn({ token }),
    onSuccess: () => {
      onDone()
      go('/', { replace: true })
    },
  })
  const error = account.error ?? use.error
  return (
    <div className="stack">
      {account.isPending && <Loading />}
      {error !== null && <Notice text={sentenceOf(error, words)} />}
      {account.data && error === null && (
        <>
          <p>{words.signIn.as(account.data.tenant, words.roles[account.data.role])}</p>
          <Act className="button strong" isPending={use.isPending} onPress={() => use.mutate()}>
            {words.signIn.goAs(account.data.name)}
          </Act>
        </>
      )}
      <Button className="button" onPress={onDone}>
        {words.signIn.withKey}
      </Button>
    </div>
  )
}

/** By the identity provider where there is one, and by a key in any case. */
function Ways() {
  const words = useWords()
  const ways = useQuery({ queryKey: ['sign-in'], queryFn: () => answerOf(api.GET('/sign-in')) })
  const oidc = ways.data?.oidc
  return (
    <>
      {ways.data?.safe === false && <Notice text={words.signIn.unsafe} />}
      {oidc && (
        <div className="stack">
          {/* Away from this page, and back to where one wanted to go. */}
          <a className="button strong" href={`${oidc.start}?returnTo=${encodeURIComponent(wanted())}`}>
            {words.signIn.by(new URL(oidc.issuer).host)}
          </a>
          <p className="about">{words.signIn.or}</p>
        </div>
      )}
      <ByKey />
    </>
  )
}

const wanted = (): string => location.pathname + location.search

function ByKey() {
  const words = useWords()
  const { signIn } = useSession()
  const [key, setKey] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = (): void => {
    setBusy(true)
    setError(undefined)
    signIn({ key: key.trim() }).catch((reason: unknown) => {
      setError(reason)
      setBusy(false)
    })
  }
  return (
    <>
      <Form className="stack" onSubmit={submit}>
        <Field
          label={words.signIn.key}
          value={key}
          onChange={setKey}
          type="password"
          autoComplete="current-password"
          isRequired
          autoFocus
          about={words.signIn.about}
        />
        {error !== undefined && <Notice text={sentenceOf(error, words)} />}
        <Act className="button strong" type="submit" isPending={isBusy}>
          {words.signIn.go}
        </Act>
      </Form>
      <details className="hint">
        <summary>{words.signIn.where}</summary>
        <p>{words.signIn.whereOwner}</p>
        <pre>make owner-key</pre>
        <p>{words.signIn.whereTeam}</p>
      </details>
    </>
  )
}
