// What is asked of a member, new or there already; and its invitation, this once.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type SyntheticEvent } from 'react'
import { Button } from 'react-aria-components/Button'
import { answerOf, api, problemOf, type Schemas } from '../api.ts'
import { Act } from '../parts/act.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { Above } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/fields.tsx'
import { sentenceOf } from '../parts/page.tsx'
import { toast } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import { useFormats, useWords } from '../words/words.tsx'
import { useMemberWords } from './words.ts'

export type Member = Schemas['Member']

export interface Invited {
  readonly name: string
  readonly invitation: Schemas['LinkOnce']
}

interface FormProps {
  readonly tenant: string
  /** Absent: a new one. */
  readonly member?: Member
  readonly onClose: () => void
  readonly onInvited: (made: Invited) => void
}

const roles = ['viewer', 'editor', 'admin'] as const
type Given = (typeof roles)[number]

export function MemberForm({ tenant, member, onClose, onInvited }: FormProps) {
  const words = useWords()
  const said = useMemberWords()
  const me = useMe()
  const queries = useQueryClient()
  const [name, setName] = useState(member?.name ?? '')
  const [role, setRole] = useState<Given>(roles.find((each) => each === member?.role) ?? 'editor')
  const asked = { name: name.trim(), role }
  const save = useMutation({
    async mutationFn() {
      if (member === undefined) {
        const body = tenant === me.tenant ? asked : { ...asked, tenant }
        return answerOf(api.POST('/members', { body }))
      }
      await answerOf(api.PATCH('/members/{id}', { params: { path: { id: member.id } }, body: asked }))
      return undefined
    },
    onSuccess: (made) => {
      if (made !== undefined) onInvited(made)
      else {
        toast({ text: said.saved(asked.name) })
        onClose()
      }
      return queries.invalidateQueries({ queryKey: ['members', tenant] })
    },
  })
  const problem = save.isError ? problemOf(save.error) : undefined
  return (
    <Above title={member === undefined ? said.inviteTitle : said.changeTitle(member.name)} isOpen onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event: SyntheticEvent) => {
          event.preventDefault()
          save.mutate()
        }}
      >
        <Field
          label={said.name}
          value={name}
          onChange={setName}
          about={said.nameAbout}
          problem={problem?.field === 'name' ? problem.message : undefined}
          autoFocus
          isRequired
        />
        <Choice
          label={said.role}
          value={role}
          options={roles
            .filter((each) => me.may(each))
            .map((each) => [each, `${words.roles[each]}: ${words.roleAbout[each]}`] as const)}
          onChange={setRole}
        />
        {member !== undefined && <p className="about">{said.changeAbout}</p>}
        {problem && problem.field !== 'name' && (
          <p className="problem" role="alert">
            {sentenceOf(problem, words)}
          </p>
        )}
        <div className="dialog-end">
          <Button className="button" onPress={onClose}>
            {words.cancel}
          </Button>
          <Act className="button strong" type="submit" isPending={save.isPending} isDisabled={name.trim() === ''}>
            {member === undefined ? said.invite : said.save}
          </Act>
        </div>
      </form>
    </Above>
  )
}

/** It is never shown again. */
export function Invitation({
  of: { name, invitation },
  onClose,
}: {
  readonly of: Invited
  readonly onClose: () => void
}) {
  const said = useMemberWords()
  const formats = useFormats()
  return (
    <Above title={said.once(name)} isOpen onClose={onClose} isWide>
      <p>{said.onceAbout}</p>
      <div className="snippet">
        <span>{said.link}</span>
        <pre tabIndex={0}>{invitation.url}</pre>
        <CopyButton text={invitation.url} label={said.link} />
      </div>
      <p className="about">{said.ends(formats.time(invitation.endsAt))}</p>
      <div className="dialog-end">
        <Button className="button strong" onPress={onClose}>
          {said.kept}
        </Button>
      </div>
    </Above>
  )
}
