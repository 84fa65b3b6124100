// For the owner: one team, its tier, its limits and its keys.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { Link as To, useLocation } from 'wouter'
import { answerOf, api, done, type Schemas } from '../api.ts'
import { Ask } from '../parts/ask.tsx'
import { Choice, Field, OnOff } from '../parts/fields.tsx'
import { MembersPanel } from '../members/panel.tsx'
import { Form, Page, Panel, Waiting } from '../parts/page.tsx'
import { statsOf } from '../stats/query.ts'
import { toast, useComplaint } from '../parts/toasts.tsx'
import { useWords } from '../words/words.tsx'
import { KeysPanel } from './keys-panel.tsx'
import { LimitsPanel } from './limits.tsx'
import { tiers } from './tenants.tsx'
import { Act } from '../parts/act.tsx'

export default function TenantPage({ id }: { readonly id: string }) {
  const words = useWords()
  const tenant = useQuery({
    queryKey: ['tenants', id],
    queryFn: () => answerOf(api.GET('/tenants/{id}', { params: { path: { id } } })),
  })
  return (
    <Page
      title={tenant.data?.name ?? id}
      lead={
        <>
          <To to={`/?tenant=${id}`}>{words.tenants.itsLinks}</To> ·{' '}
          <To to={statsOf({ tenant: id })}>{words.shell.stats}</To>
        </>
      }
    >
      <Waiting of={tenant} />
      {tenant.data && (
        <>
          <MembersPanel tenant={id} />
          <KeysPanel tenant={id} />
          <LimitsPanel of={id} />
          {id !== 'owner' && <Settings key={tenant.data.updatedAt} tenant={tenant.data} />}
        </>
      )}
    </Page>
  )
}

function Settings({ tenant }: { readonly tenant: Schemas['Tenant'] }) {
  const words = useWords()
  const queries = useQueryClient()
  const [, go] = useLocation()
  const [name, setName] = useState(tenant.name)
  const [tier, setTier] = useState(tenant.tier)
  const [quota, setQuota] = useState(tenant.linkQuota === null ? '' : String(tenant.linkQuota))
  const [preview, setPreview] = useState(tenant.preview)
  const [isAsking, setAsking] = useState(false)
  const path = { id: tenant.id }
  const refresh = () => Promise.all([queries.invalidateQueries({ queryKey: ['tenants'] }), queries.invalidateQueries({ queryKey: ['limits'] })]) // prettier-ignore
  const onError = useComplaint()
  const save = useMutation({
    mutationFn: () =>
      answerOf(
        api.PATCH('/tenants/{id}', {
          params: { path },
          body: { name: name.trim(), tier, preview, linkQuota: quota.trim() === '' ? null : Number(quota) },
        }),
      ),
    onSuccess: () => {
      toast({ text: words.link.saved })
      return refresh()
    },
    onError,
  })
  const remove = useMutation({
    mutationFn: () => done(api.DELETE('/tenants/{id}', { params: { path } })),
    onSuccess: () => {
      go('/tenants')
      return refresh()
    },
    onError: (error) => {
      setAsking(false)
      onError(error)
    },
  })
  return (
    <Panel title={words.tenants.settings}>
      <Form className="stack" onSubmit={() => save.mutate()}>
        <div className="trio">
          <Field label={words.tenants.name} value={name} onChange={setName} />
          <Choice
            label={words.tenants.tier}
            value={tier}
            options={tiers.map((each) => [each, each] as const)}
            onChange={setTier}
          />
          <Field
            label={words.tenants.linkQuota}
            type="number"
            value={quota}
            onChange={setQuota}
            about={words.tenants.linkQuotaAbout}
          />
        </div>
        <OnOff label={words.tenants.preview} about={words.tenants.previewAbout} value={preview} onChange={setPreview} />
        <div className="row between">
          <Act className="button strong" type="submit" isPending={save.isPending}>
            {words.link.save}
          </Act>
          <Button className="button danger" onPress={() => setAsking(true)}>
            {words.tenants.remove}
          </Button>
        </div>
      </Form>
      <Ask
        title={words.tenants.removeAsk(tenant.name)}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        act={words.tenants.remove}
        onAct={remove.mutate}
        isPending={remove.isPending}
      >
        <p>{words.tenants.removeAbout}</p>
      </Ask>
    </Panel>
  )
}
