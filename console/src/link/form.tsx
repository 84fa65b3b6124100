// Everything that can be said of a link, for a new one and for one that is there.
import type { ReactNode } from 'react'
import { Button } from 'react-aria-components/Button'
import { Field, OnOff } from '../parts/fields.tsx'
import { Panel } from '../parts/page.tsx'
import { TagsField } from '../parts/tags-field.tsx'
import { useWords } from '../words/words.tsx'
import type { Draft } from './draft.ts'
import { RulesEditor } from './rules.tsx'

interface FormProps {
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
  /** What the server said, and of which field. */
  readonly problem?: { readonly field: string | undefined; readonly text: string } | undefined
  readonly isDisabled?: boolean
  /** Of one that is there. */
  readonly hasPassword?: boolean
  readonly hits?: ReactNode
  /** Beside where it leads: what only a new one can choose. */
  readonly first?: ReactNode
  readonly underUrl?: ReactNode
}

export function LinkForm({
  draft,
  onChange,
  problem,
  isDisabled = false,
  hasPassword = false,
  hits,
  first,
  underUrl,
}: FormProps) {
  const words = useWords()
  const set = (part: Partial<Draft>): void => onChange({ ...draft, ...part })
  const about = (name: keyof Draft): string | undefined => (problem?.field === name ? problem.text : undefined)
  const text = (name: 'url' | 'title' | 'note' | 'startsAt' | 'expiresAt' | 'expiredUrl' | 'monthlyHits') => ({
    label: words.link[name],
    value: draft[name],
    onChange: (value: string) => set({ [name]: value }),
    problem: about(name),
    isDisabled,
  })
  return (
    <>
      <Panel title={words.link.what}>
        <div className="stack">
          <Field
            {...text('url')}
            type="url"
            placeholder={hasPassword && draft.url === '' ? words.link.guarded : 'https://'}
          />
          {underUrl}
          {first}
          <Field {...text('title')} />
          <TagsField
            tags={draft.tags}
            onChange={(tags) => set({ tags })}
            problem={about('tags')}
            isDisabled={isDisabled}
          />
          <Field {...text('note')} lines={2} about={words.link.noteAbout} />
        </div>
      </Panel>
      <Panel title={words.link.when}>
        <div className="stack">
          <div className="pair">
            <Field {...text('startsAt')} type="datetime-local" about={words.link.startsAtAbout} />
            <Field {...text('expiresAt')} type="datetime-local" about={words.link.expiresAtAbout} />
          </div>
          <Field {...text('monthlyHits')} type="number" about={words.link.monthlyHitsAbout} />
          {hits}
          <Field {...text('expiredUrl')} type="url" about={words.link.expiredUrlAbout} />
        </div>
      </Panel>
      <Panel title={words.link.how}>
        <div className="stack">
          <OnOff
            label={words.link.forwardQuery}
            about={words.link.forwardQueryAbout}
            value={draft.forwardQuery}
            onChange={(forwardQuery) => set({ forwardQuery })}
            isDisabled={isDisabled}
          />
          <OnOff
            label={words.link.permanent}
            about={words.link.permanentAbout}
            value={draft.permanent}
            onChange={(permanent) => set({ permanent })}
            isDisabled={isDisabled}
          />
          <Password
            draft={draft}
            onChange={onChange}
            hasPassword={hasPassword}
            problem={about('password')}
            isDisabled={isDisabled}
          />
        </div>
      </Panel>
      <Panel title={words.link.rules}>
        <RulesEditor
          rules={draft.rules}
          onChange={(rules) => set({ rules })}
          isDisabled={isDisabled}
          problem={about('rules')}
        />
      </Panel>
    </>
  )
}

function Password({
  draft,
  onChange,
  hasPassword,
  problem,
  isDisabled,
}: Pick<FormProps, 'draft' | 'onChange'> & {
  readonly hasPassword: boolean
  readonly problem: string | undefined
  readonly isDisabled: boolean
}) {
  const words = useWords()
  const isKept = hasPassword && draft.password === undefined
  const isGoing = hasPassword && draft.password === null
  if (isKept || isGoing)
    return (
      <div className="row between">
        <p>{isKept ? words.link.hasPassword : words.link.passwordGoes}</p>
        <div className="row">
          {isKept && (
            <Button
              className="button small"
              isDisabled={isDisabled}
              onPress={() => onChange({ ...draft, password: '' })}
            >
              {words.link.newPassword}
            </Button>
          )}
          <Button
            className="button small"
            isDisabled={isDisabled}
            onPress={() => onChange({ ...draft, password: isKept ? null : undefined })}
          >
            {isKept ? words.link.noPassword : words.undo}
          </Button>
        </div>
      </div>
    )
  return (
    <Field
      label={words.link.password}
      about={words.link.passwordAbout}
      value={draft.password ?? ''}
      onChange={(password) => onChange({ ...draft, password })}
      type="text"
      autoComplete="off"
      problem={problem}
      isDisabled={isDisabled}
    />
  )
}
