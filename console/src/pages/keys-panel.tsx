// The keys of a tenant. A new one is shown once, with what one does with it.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { answerOf, api, done, problemOf, type Schemas } from '../api.ts'
import { AboveForm, Ask, Once } from '../parts/ask.tsx'
import { Choice, Field } from '../parts/fields.tsx'
import { Empty, Panel, Waiting } from '../parts/page.tsx'
import { toast, useComplaint } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import { pageState, type Role } from '../state.ts'
import { useFormats, useWords } from '../words/words.tsx'
import { timeOf } from '../link/draft.ts'

type Key = Schemas['Key']

export function KeysPanel({ tenant }: { readonly tenant: string }) {
  const words = useWords()
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<Schemas['KeyOnce']>()
  const keys = useQuery({
    queryKey: ['keys', tenant],
    queryFn: () => answerOf(api.GET('/tenants/{id}/keys', { params: { path: { id: tenant } } })),
  })
  const [isAll, setAll] = useState(false)
  const now = Date.now()
  const lives = ({ revokedAt, expiresAt }: Key): boolean =>
    revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > now)
  const items = keys.data?.items ?? []
  const gone = items.filter((key) => !lives(key)).length
  return (
    <Panel
      title={words.keys.title}
      aside={
        <Button className="button strong small" onPress={() => setMaking(true)}>
          {words.keys.make}
        </Button>
      }
    >
      <Waiting of={keys} />
      {keys.data && items.length === gone && <Empty title={words.keys.none} about={words.keys.noneAbout} />}
      <ul className="rows">
        {items
          .filter((key) => isAll || lives(key))
          .map((key) => (
            <KeyRow key={key.id} item={key} tenant={tenant} lives={lives(key)} />
          ))}
      </ul>
      {gone > 0 && (
        <Button className="button small" onPress={() => setAll(!isAll)}>
          {isAll ? words.keys.hideGone : words.keys.showGone(gone)}
        </Button>
      )}
      <NewKey
        tenant={tenant}
        isOpen={isMaking}
        onClose={() => setMaking(false)}
        onMade={(key) => {
          setMaking(false)
          setMade(key)
        }}
      />
      {made && <KeyOnce made={made} onClose={() => setMade(undefined)} />}
    </Panel>
  )
}

function KeyRow({ item, tenant, lives }: { readonly item: Key; readonly tenant: string; readonly lives: boolean }) {
  const words = useWords()
  const formats = useFormats()
  const queries = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const revoke = useMutation({
    mutationFn: () =>
      done(api.DELETE('/tenants/{id}/keys/{keyId}', { params: { path: { id: tenant, keyId: item.id } } })),
    onSuccess: () => {
      setAsking(false)
      toast({ text: words.keys.revoked(item.name) })
      return queries.invalidateQueries({ queryKey: ['keys', tenant] })
    },
    onError: useComplaint(),
  })
  return (
    <li>
      <div>
        <strong>{item.name}</strong>
        <span className="about">
          {words.roles[item.role]} · {words.keys.since(formats.day(item.createdAt))}
          {item.expiresAt !== null && ` · ${words.keys.ends(formats.time(item.expiresAt))}`}
          {item.revokedAt !== null && ` · ${words.keys.revokedAt(formats.time(item.revokedAt))}`}
        </span>
      </div>
      {lives && (
        <Button
          className="button small danger"
          onPress={() => setAsking(true)}
          aria-label={words.keys.revokeOf(item.name)}
        >
          {words.keys.revoke}
        </Button>
      )}
      <Ask
        title={words.keys.revokeAsk(item.name)}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        act={words.keys.revoke}
        onAct={revoke.mutate}
        isPending={revoke.isPending}
      >
        <p>{words.keys.revokeAbout}</p>
      </Ask>
    </li>
  )
}

interface NewKeyProps {
  readonly tenant: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onMade: (key: Schemas['KeyOnce']) => void
}

function NewKey({ tenant, isOpen, onClose, onMade }: NewKeyProps) {
  const words = useWords()
  const { may } = useMe()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>(tenant === 'owner' ? 'owner' : 'editor')
  const [expiresAt, setExpiresAt] = useState('')
  const make = useMutation({
    mutationFn: () =>
      answerOf(
        api.POST('/tenants/{id}/keys', {
          params: { path: { id: tenant } },
          body: { name: name.trim(), role, expiresAt: timeOf(expiresAt) },
        }),
      ),
    onSuccess: (key) => {
      setName('')
      onMade(key)
      return queries.invalidateQueries({ queryKey: ['keys', tenant] })
    },
  })
  const roles = tenant === 'owner' ? (['owner'] as const) : (['viewer', 'editor', 'admin'] as const).filter((each) => may(each)) // prettier-ignore
  const problem = make.isError ? problemOf(make.error) : undefined
  const said = (field: string): string | undefined => (problem?.field === field ? problem.message : undefined)
  return (
    <AboveForm
      title={words.keys.makeTitle}
      isOpen={isOpen}
      onClose={onClose}
      act={words.keys.make}
      onAct={make.mutate}
      isPending={make.isPending}
      isDisabled={name.trim() === ''}
      problem={problem}
      fields={['name', 'expiresAt']}
    >
      <Field
        label={words.keys.name}
        value={name}
        onChange={setName}
        about={words.keys.nameAbout}
        problem={said('name')}
        autoFocus
        isRequired
      />
      <Choice
        label={words.keys.role}
        value={role}
        options={roles.map((each) => [each, `${words.roles[each]}: ${words.roleAbout[each]}`] as const)}
        onChange={setRole}
      />
      <Field
        label={words.keys.expiresAt}
        type="datetime-local"
        value={expiresAt}
        onChange={setExpiresAt}
        about={words.keys.expiresAtAbout}
        problem={said('expiresAt')}
      />
    </AboveForm>
  )
}

/** It is never shown again: what one does with it is beside it. */
function KeyOnce({
  made: { name, key },
  onClose,
}: {
  readonly made: Schemas['KeyOnce']
  readonly onClose: () => void
}) {
  const words = useWords()
  const { publicUrl } = pageState
  const snippets = [
    { label: words.keys.theKey, text: key },
    {
      label: 'curl',
      text: `curl ${publicUrl}/api/v1/links -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"url":"https://example.org/"}'`,
    },
    {
      label: words.keys.cli,
      text: `QUICKLINK_URL=${publicUrl} QUICKLINK_KEY=${key} quicklink links create https://example.org/`,
    },
  ]
  return <Once title={words.keys.once(name)} about={words.keys.onceAbout} snippets={snippets} onClose={onClose} />
}
