// What is asked of a member, new or there already; and its invitation, this once.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { answerOf, api, problemOf, type Schemas } from '../api.ts'
import { AboveForm, Once } from '../parts/ask.tsx'
import { Choice, Field } from '../parts/fields.tsx'
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
    <AboveForm
      title={member === undefined ? said.inviteTitle : said.changeTitle(member.name)}
      isOpen
      onClose={onClose}
      act={member === undefined ? said.invite : words.link.save}
      onAct={save.mutate}
      isPending={save.isPending}
      isDisabled={name.trim() === ''}
      problem={problem}
      fields={['name']}
    >
      <Field
        label={words.keys.name}
        value={name}
        onChange={setName}
        about={words.keys.nameAbout}
        problem={problem?.field === 'name' ? problem.message : undefined}
        autoFocus
        isRequired
      />
      <Choice
        label={words.keys.role}
        value={role}
        options={roles
          .filter((each) => me.may(each))
          .map((each) => [each, `${words.roles[each]}: ${words.roleAbout[each]}`] as const)}
        onChange={setRole}
      />
      {member !== undefined && <p className="about">{said.changeAbout}</p>}
    </AboveForm>
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
    <Once
      title={said.once(name)}
      about={said.onceAbout}
      snippets={[{ label: said.link, text: invitation.url }]}
      onClose={onClose}
    >
      <p className="about">{said.ends(formats.time(invitation.endsAt))}</p>
    </Once>
  )
}
