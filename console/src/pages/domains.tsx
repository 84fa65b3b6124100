// For the owner: hosts whose links are their own.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { answerOf, api, done, problemOf, type Schemas } from '../api.ts'
import { AboveForm } from '../parts/ask.tsx'
import { Field } from '../parts/fields.tsx'
import { Empty, Page, Panel, Waiting } from '../parts/page.tsx'
import { toast, useComplaint } from '../parts/toasts.tsx'
import { pageState } from '../state.ts'
import { useWords } from '../words/words.tsx'

type Domain = Schemas['Domain']

export default function Domains() {
  const words = useWords()
  const domains = useQuery({ queryKey: ['domains'], queryFn: () => answerOf(api.GET('/domains')) })
  const [edited, setEdited] = useState<Domain | 'new'>()
  const items = domains.data?.items ?? []
  return (
    <Page
      title={words.shell.domains}
      lead={words.domains.lead}
      actions={
        <Button className="button strong" onPress={() => setEdited('new')}>
          {words.domains.make}
        </Button>
      }
    >
      <Waiting of={domains} />
      {domains.data && (
        <Panel title={words.shell.domains}>
          <ul className="rows">
            <li>
              <div>
                <strong>{new URL(pageState.publicUrl).host}</strong>
                <span className="about">{words.domains.default}</span>
              </div>
            </li>
            {items.map((domain) => (
              <Row key={domain.host} domain={domain} onEdit={() => setEdited(domain)} />
            ))}
          </ul>
        </Panel>
      )}
      {domains.data && items.length === 0 && <Empty title={words.domains.none} about={words.domains.noneAbout} />}
      {edited !== undefined && (
        <Editor domain={edited === 'new' ? undefined : edited} onClose={() => setEdited(undefined)} />
      )}
    </Page>
  )
}

function Row({ domain, onEdit }: { readonly domain: Domain; readonly onEdit: () => void }) {
  const words = useWords()
  const queries = useQueryClient()
  const complain = useComplaint()
  const remove = useMutation({
    mutationFn: () => done(api.DELETE('/domains/{host}', { params: { path: { host: domain.host } } })),
    onSuccess: () => {
      const again = (): void => {
        const { host, tenants, rootUrl, notFoundUrl } = domain
        void done(api.POST('/domains', { body: { host, tenants, rootUrl, notFoundUrl } })).then(
          () => queries.invalidateQueries({ queryKey: ['domains'] }),
          complain,
        )
      }
      toast({ text: words.domains.removed(domain.host), actions: [{ label: words.undo, act: again }] })
      return queries.invalidateQueries({ queryKey: ['domains'] })
    },
    onError: complain,
  })
  return (
    <li>
      <div>
        <strong>{domain.host}</strong>
        <span className="about">
          {domain.tenants.length === 0 ? words.domains.ownerOnly : words.domains.tenantsOf(domain.tenants.join(', '))}
        </span>
      </div>
      <div className="row">
        <Button className="button small" onPress={onEdit} aria-label={`${words.links.edit}: ${domain.host}`}>
          {words.links.edit}
        </Button>
        <Button
          className="button small danger"
          onPress={() => remove.mutate()}
          aria-label={`${words.domains.remove}: ${domain.host}`}
        >
          {words.domains.remove}
        </Button>
      </div>
    </li>
  )
}

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())

function Editor({ domain, onClose }: { readonly domain: Domain | undefined; readonly onClose: () => void }) {
  const words = useWords()
  const queries = useQueryClient()
  const [host, setHost] = useState(domain?.host ?? '')
  const [tenants, setTenants] = useState(domain?.tenants.join(', ') ?? '')
  const [rootUrl, setRootUrl] = useState(domain?.rootUrl ?? '')
  const [notFoundUrl, setNotFoundUrl] = useState(domain?.notFoundUrl ?? '')
  const save = useMutation({
    mutationFn: () => {
      const listed = tenants.split(/[\s,]+/).filter((each) => each !== '')
      const body = { tenants: listed, rootUrl: orNull(rootUrl), notFoundUrl: orNull(notFoundUrl) }
      return domain === undefined
        ? answerOf(api.POST('/domains', { body: { host: host.trim(), ...body } }))
        : answerOf(api.PATCH('/domains/{host}', { params: { path: { host: domain.host } }, body }))
    },
    onSuccess: () => {
      onClose()
      return queries.invalidateQueries({ queryKey: ['domains'] })
    },
  })
  const problem = save.isError ? problemOf(save.error) : undefined
  return (
    <AboveForm
      title={domain?.host ?? words.domains.make}
      isOpen
      onClose={onClose}
      act={words.link.save}
      onAct={save.mutate}
      isPending={save.isPending}
      isDisabled={host.trim() === ''}
      problem={problem}
    >
      {domain === undefined && (
        <Field
          label={words.domains.host}
          value={host}
          onChange={setHost}
          placeholder="go.example.org"
          about={words.domains.hostAbout}
          autoFocus
          isRequired
        />
      )}
      <Field label={words.domains.tenants} value={tenants} onChange={setTenants} about={words.domains.tenantsAbout} />
      <Field
        label={words.domains.rootUrl}
        type="url"
        value={rootUrl}
        onChange={setRootUrl}
        about={words.domains.rootUrlAbout}
      />
      <Field
        label={words.domains.notFoundUrl}
        type="url"
        value={notFoundUrl}
        onChange={setNotFoundUrl}
        about={words.domains.notFoundUrlAbout}
      />
    </AboveForm>
  )
}
