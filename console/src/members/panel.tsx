// The members of a tenant: invited, changed, invited anew, removed.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { answerOf, api, done } from '../api.ts'
import { Ask } from '../parts/ask.tsx'
import { Icon } from '../parts/icon.tsx'
import { Empty, Panel, Waiting } from '../parts/page.tsx'
import { toast, useComplaint } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import { useFormats, useWords } from '../words/words.tsx'
import { Invitation, MemberForm, type Invited, type Member } from './forms.tsx'
import { useMemberWords } from './words.ts'

export function MembersPanel({ tenant }: { readonly tenant: string }) {
  const words = useWords()
  const said = useMemberWords()
  const me = useMe()
  const [isInviting, setInviting] = useState(false)
  const [invited, setInvited] = useState<Invited>()
  // Only the owner may name a tenant.
  const query = tenant === me.tenant ? {} : { tenant }
  const members = useQuery({
    queryKey: ['members', tenant],
    queryFn: () => answerOf(api.GET('/members', { params: { query } })),
  })
  const items = members.data?.items ?? []
  return (
    <Panel
      title={words.shell.members}
      aside={
        <Button className="button strong small" onPress={() => setInviting(true)}>
          {said.invite}
        </Button>
      }
    >
      <Waiting of={members} />
      {members.data && items.length === 0 && <Empty title={said.none} about={said.noneAbout} />}
      <ul className="rows">
        {items.map((member) => (
          <MemberRow key={member.id} member={member} onInvited={setInvited} />
        ))}
      </ul>
      {isInviting && (
        <MemberForm
          tenant={tenant}
          onClose={() => setInviting(false)}
          onInvited={(made) => {
            setInviting(false)
            setInvited(made)
          }}
        />
      )}
      {invited && <Invitation of={invited} onClose={() => setInvited(undefined)} />}
    </Panel>
  )
}

interface RowProps {
  readonly member: Member
  readonly onInvited: (made: Invited) => void
}

function MemberRow({ member, onInvited }: RowProps) {
  const words = useWords()
  const said = useMemberWords()
  const formats = useFormats()
  const { may } = useMe()
  const [asked, setAsked] = useState<'change' | 'remove'>()
  const { id, name, role, by, createdAt, signedInAt } = member
  const invite = useMutation({
    mutationFn: () => answerOf(api.POST('/members/{id}/invitation', { params: { path: { id } } })),
    onSuccess: (invitation) => onInvited({ name, invitation }),
    onError: useComplaint(),
  })
  const close = (): void => setAsked(undefined)
  const actions = by === 'oidc' ? (['remove'] as const) : (['change', 'again', 'remove'] as const)
  return (
    <li>
      <div>
        <strong>{name}</strong>
        <span className="about">
          {words.roles[role]}
          {by === 'oidc' && ` · ${said.byProvider}`} ·{' '}
          {signedInAt === null ? said.invited(formats.day(createdAt)) : said.joined(formats.time(signedInAt))}
        </span>
      </div>
      {may(role) && (
        <MenuTrigger>
          <Button className="button bare" aria-label={said.actions(name)}>
            <Icon name="more" />
          </Button>
          <Popover className="popover" placement="bottom end">
            <Menu
              className="list"
              onAction={(action) => {
                if (action === 'again') invite.mutate()
                else setAsked(action === 'remove' ? 'remove' : 'change')
              }}
            >
              {actions.map((action) => (
                <MenuItem key={action} id={action} className="item">
                  {said[action]}
                </MenuItem>
              ))}
            </Menu>
          </Popover>
        </MenuTrigger>
      )}
      {asked === 'change' && <MemberForm tenant={member.tenant} member={member} onClose={close} onInvited={close} />}
      {asked === 'remove' && <Remove member={member} onClose={close} />}
    </li>
  )
}

function Remove({ member, onClose }: { readonly member: Member; readonly onClose: () => void }) {
  const said = useMemberWords()
  const queries = useQueryClient()
  const complain = useComplaint()
  const { id, name, by, tenant } = member
  const remove = useMutation({
    mutationFn: () => done(api.DELETE('/members/{id}', { params: { path: { id } } })),
    onSuccess: () => {
      toast({ text: said.removed(name) })
      return queries.invalidateQueries({ queryKey: ['members', tenant] })
    },
    onError: (error) => {
      onClose()
      complain(error)
    },
  })
  return (
    <Ask
      title={said.removeAsk(name)}
      isOpen
      onClose={onClose}
      act={said.remove}
      onAct={remove.mutate}
      isPending={remove.isPending}
    >
      <p>{said.removeAbout}</p>
      {by === 'oidc' && <p>{said.removeProvider}</p>}
    </Ask>
  )
}
