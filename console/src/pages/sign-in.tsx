import { useState, type SyntheticEvent } from 'react'
import { problemOf } from '../api.ts'
import { Field } from '../parts/fields.tsx'
import { Icon, Mark } from '../parts/icon.tsx'
import { Page, sentenceOf } from '../parts/page.tsx'
import { useSession } from '../session.tsx'
import { useWords } from '../words/words.tsx'
import { Language, ThemeChoice } from './choices.tsx'
import { Act } from '../parts/act.tsx'

export function SignIn() {
  const words = useWords()
  const { signIn, hasEnded } = useSession()
  const [key, setKey] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    signIn(key.trim()).catch((reason: unknown) => {
      setError(reason)
      setBusy(false)
    })
  }
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
        <form className="stack" onSubmit={submit}>
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
          {error !== undefined && (
            <div className="notice" role="alert">
              <Icon name="alert" />
              <p>{sentenceOf(problemOf(error), words)}</p>
            </div>
          )}
          <Act className="button strong" type="submit" isPending={isBusy}>
            {words.signIn.go}
          </Act>
        </form>
        <details className="hint">
          <summary>{words.signIn.where}</summary>
          <p>{words.signIn.whereOwner}</p>
          <pre>make owner-key</pre>
          <p>{words.signIn.whereTeam}</p>
        </details>
      </Page>
      <footer className="row">
        <Language />
        <ThemeChoice />
      </footer>
    </div>
  )
}
