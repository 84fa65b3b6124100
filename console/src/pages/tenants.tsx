// For the owner: the teams on this server.
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { Link as To, useLocation } from 'wouter'
import { answerOf, api, problemOf, type Schemas } from '../api.ts'
import { AboveForm } from '../parts/ask.tsx'
import { Choice, Field } from '../parts/fields.tsx'
import { Empty, More, Page, Panel, Waiting } from '../parts/page.tsx'
import { useFormats, useWords } from '../words/words.tsx'

export type Tier = Schemas['Tenant']['tier']
export const tiers = ['standard', 'plus', 'unlimited'] as const satisfies readonly Tier[]

export default function Tenants() {
  const words = useWords()
  const formats = useFormats()
  const [isMaking, setMaking] = useState(false)
  const tenants = useInfiniteQuery({
    queryKey: ['tenants'],
    queryFn: ({ pageParam }) =>
      answerOf(
        api.GET('/tenants', { params: { query: { limit: 50, ...(pageParam === '' ? {} : { cursor: pageParam }) } } }),
      ),
    initialPageParam: '',
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })
  const items = tenants.data?.pages.flatMap((page) => page.items) ?? []
  const others = items.filter(({ id }) => id !== 'owner').length
  return (
    <Page
      title={words.shell.tenants}
      lead={words.tenants.lead}
      actions={
        <Button className="button strong" onPress={() => setMaking(true)}>
          {words.tenants.make}
        </Button>
      }
    >
      <Waiting of={tenants} />
      {items.length > 0 && (
        <Panel title={words.shell.tenants}>
          <ul className="rows">
            {items.map(({ id, name, tier, createdAt }) => (
              <li key={id}>
                <div>
                  <To to={`/tenants/${id}`}>
                    <strong>{name}</strong>
                  </To>
                  <span className="about">
                    {id} · {words.keys.since(formats.day(createdAt))}
                  </span>
                </div>
                <span className="badge">{tier}</span>
              </li>
            ))}
          </ul>
          <More of={tenants}>{words.links.next}</More>
        </Panel>
      )}
      {tenants.data && others === 0 && <Empty title={words.tenants.none} about={words.tenants.noneAbout} />}
      <NewTenant isOpen={isMaking} onClose={() => setMaking(false)} />
    </Page>
  )
}

function NewTenant({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const words = useWords()
  const queries = useQueryClient()
  const [, go] = useLocation()
  const [id, setId] = useState('')
  const [name, setName] = useState('')
  const [tier, setTier] = useState<Tier>('standard')
  const make = useMutation({
    mutationFn: () => answerOf(api.POST('/tenants', { body: { id: id.trim(), name: name.trim(), tier } })),
    onSuccess: (made) => {
      go(`/tenants/${made.id}`)
      return queries.invalidateQueries({ queryKey: ['tenants'] })
    },
  })
  const problem = make.isError ? problemOf(make.error) : undefined
  const said = (field: string): string | undefined => (problem?.field === field ? problem.message : undefined)
  return (
    <AboveForm
      title={words.tenants.makeTitle}
      isOpen={isOpen}
      onClose={onClose}
      act={words.tenants.make}
      onAct={make.mutate}
      isPending={make.isPending}
      isDisabled={id.trim() === '' || name.trim() === ''}
      problem={problem}
      fields={['name', 'id']}
    >
      <Field label={words.tenants.name} value={name} onChange={setName} problem={said('name')} autoFocus isRequired />
      <Field
        label={words.tenants.id}
        value={id}
        onChange={setId}
        about={words.tenants.idAbout}
        problem={said('id')}
        isRequired
      />
      <Choice
        label={words.tenants.tier}
        value={tier}
        options={tiers.map((each) => [each, each] as const)}
        onChange={setTier}
      />
    </AboveForm>
  )
}
