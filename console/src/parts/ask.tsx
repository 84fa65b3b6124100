// The dialogs that there are: a form that makes something, the question before what cannot be taken back, and a secret that is shown once.
import type { ReactNode } from 'react'
import { Button } from 'react-aria-components/Button'
import type { ProblemError } from '../api.ts'
import { useWords } from '../words/words.tsx'
import { Act } from './act.tsx'
import { CopyButton } from './copy.tsx'
import { Above } from './dialog.tsx'
import { Form, Problem, sentenceOf } from './page.tsx'

interface AskProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  /** What the button says. */
  readonly act: string
  readonly onAct: () => void
  readonly isPending?: boolean
  readonly children: ReactNode
}

const End = ({ onClose, children }: { readonly onClose: () => void; readonly children: ReactNode }) => {
  const words = useWords()
  return (
    <div className="dialog-end">
      <Button className="button" onPress={onClose}>
        {words.cancel}
      </Button>
      {children}
    </div>
  )
}

export const Ask = ({ title, isOpen, onClose, act, onAct, isPending = false, children }: AskProps) => (
  <Above title={title} isOpen={isOpen} onClose={onClose}>
    {children}
    <End onClose={onClose}>
      <Act className="button danger" isPending={isPending} onPress={onAct}>
        {act}
      </Act>
    </End>
  </Above>
)

interface AboveFormProps extends AskProps {
  readonly isDisabled?: boolean
  readonly problem?: ProblemError | undefined
  /** Fields that say themselves what is wrong with them. */
  readonly fields?: readonly string[]
}

export function AboveForm(props: AboveFormProps) {
  const { title, isOpen, onClose, act, onAct, isPending = false, isDisabled = false, problem, fields = [] } = props
  const words = useWords()
  return (
    <Above title={title} isOpen={isOpen} onClose={onClose}>
      <Form className="stack" onSubmit={onAct}>
        {props.children}
        {problem && !fields.includes(problem.field ?? '') && <Problem>{sentenceOf(problem, words)}</Problem>}
        <End onClose={onClose}>
          <Act className="button strong" type="submit" isPending={isPending} isDisabled={isDisabled}>
            {act}
          </Act>
        </End>
      </Form>
    </Above>
  )
}

interface OnceProps {
  readonly title: string
  readonly about: string
  /** The secret, and what one does with it. */
  readonly snippets: readonly { readonly label: string; readonly text: string }[]
  readonly onClose: () => void
  readonly children?: ReactNode
}

export function Once({ title, about, snippets, onClose, children }: OnceProps) {
  const words = useWords()
  return (
    <Above title={title} isOpen onClose={onClose} isWide>
      <p>{about}</p>
      {snippets.map(({ label, text }) => (
        <div key={label} className="snippet">
          <span>{label}</span>
          <pre tabIndex={0}>{text}</pre>
          <CopyButton text={text} label={label} />
        </div>
      ))}
      {children}
      <div className="dialog-end">
        <Button className="button strong" onPress={onClose}>
          {words.kept}
        </Button>
      </div>
    </Above>
  )
}
