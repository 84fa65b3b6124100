// Links that come from elsewhere: a file, what would become of it, and what has.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { useSearchParams } from 'wouter'
import { answerOf, api, problemOf } from '../api.ts'
import { Act } from '../parts/act.tsx'
import { Choice, Field } from '../parts/fields.tsx'
import { Empty, Form, Page, Panel, Problem, sentenceOf, Waiting } from '../parts/page.tsx'
import { useMe } from '../session.tsx'
import '../styles/imports.css'
import { useFormats, useWords } from '../words/words.tsx'
import { FileField } from './file-field.tsx'
import { Result } from './result.tsx'
import { conflicts, formats, sendFile, type Asked } from './send.ts'
import { useImportWords } from './words.ts'

const formatNames = { quicklink: 'QuickLink', shlink: 'Shlink', yourls: 'YOURLS', kutt: 'Kutt', bitly: 'Bitly', dub: 'Dub' } // prettier-ignore
const usual: Asked = { format: 'auto', onConflict: 'skip', tenant: '', domain: '', dryRun: true }

export default function Imports() {
  const words = useWords()
  const own = useImportWords()
  const [params, setParams] = useSearchParams()
  const [file, setFile] = useState<File>()
  const [asked, setAsked] = useState(usual)
  const id = params.get('id') ?? undefined
  const show = (next: string | undefined): void => setParams(next === undefined ? {} : { id: next })
  const sending = useSending(show)
  const send = (dryRun: boolean): void => file && sending.begin(file, { ...asked, dryRun })
  return (
    <Page title={words.shell.imports} lead={own.lead}>
      <Panel title={own.file}>
        <Form className="stack" onSubmit={() => send(true)}>
          <FileField
            file={file}
            onFile={(chosen) => {
              setFile(chosen)
              sending.reset()
              show(undefined)
            }}
          />
          <Terms asked={asked} onChange={setAsked} />
          <Sending sending={sending} />
          <div className="row wrap">
            <Act className="button strong" type="submit" isPending={sending.isPending} isDisabled={!file}>
              {own.tryIt}
            </Act>
            <Act className="button" isPending={sending.isPending} isDisabled={!file} onPress={() => send(false)}>
              {own.make}
            </Act>
            <span className="about">{own.tryAbout}</span>
          </div>
        </Form>
      </Panel>
      {id !== undefined && (
        <Result key={id} id={id} onForReal={file ? () => send(false) : undefined} onForgotten={() => show(undefined)} />
      )}
      <Earlier shown={id} onShow={show} />
    </Page>
  )
}

/** One at a time; who goes away from the page meanwhile takes nothing back that has arrived. */
function useSending(onKept: (id: string) => void) {
  const queries = useQueryClient()
  const [share, setShare] = useState(0)
  const stop = useRef<AbortController>(undefined)
  const send = useMutation({
    mutationFn: ({ file, asked }: { file: File; asked: Asked }) => {
      setShare(0)
      stop.current = new AbortController()
      return sendFile(file, asked, { onShare: setShare, signal: stop.current.signal })
    },
    onSuccess: ({ id }) => {
      onKept(id)
      return queries.invalidateQueries({ queryKey: ['imports'] })
    },
  })
  return {
    begin: (file: File, asked: Asked) => send.mutate({ file, asked }),
    stop: () => stop.current?.abort(),
    reset: send.reset,
    isPending: send.isPending,
    problem: send.isError ? problemOf(send.error) : undefined,
    share,
  }
}

function Sending({
  sending: { isPending, share, stop, problem },
}: {
  readonly sending: ReturnType<typeof useSending>
}) {
  const words = useWords()
  const own = useImportWords()
  const formats = useFormats()
  if (problem) return <Problem>{problem.code === 'stopped' ? own.stopped : sentenceOf(problem, words)}</Problem>
  if (!isPending) return null
  return (
    <div className="row meter">
      <progress value={share} max={1} aria-label={own.sendingLabel} />
      <span className="about">{own.sending(formats.share(share))}</span>
      <Button className="button small" onPress={stop}>
        {own.stop}
      </Button>
    </div>
  )
}

function Terms({ asked, onChange }: { readonly asked: Asked; readonly onChange: (asked: Asked) => void }) {
  const own = useImportWords()
  const { may } = useMe()
  return (
    <div className="pair">
      <Choice
        label={own.format}
        value={asked.format}
        options={formats.map((each) => [each, each === 'auto' ? own.auto : formatNames[each]] as const)}
        onChange={(format) => onChange({ ...asked, format })}
      />
      <Choice
        label={own.conflict}
        value={asked.onConflict}
        options={conflicts.map((each) => [each, own.conflicts[each]] as const)}
        onChange={(onConflict) => onChange({ ...asked, onConflict })}
      />
      {may('owner') && (
        <Field
          label={own.tenant}
          value={asked.tenant}
          about={own.tenantAbout}
          onChange={(tenant) => onChange({ ...asked, tenant })}
        />
      )}
      <Field
        label={own.domain}
        value={asked.domain}
        about={own.domainAbout}
        onChange={(domain) => onChange({ ...asked, domain })}
      />
    </div>
  )
}

function Earlier({ shown, onShow }: { readonly shown: string | undefined; readonly onShow: (id: string) => void }) {
  const own = useImportWords()
  const formats = useFormats()
  const earlier = useQuery({
    queryKey: ['imports'],
    queryFn: () => answerOf(api.GET('/imports', { params: { query: { limit: 20 } } })),
  })
  const items = earlier.data?.items.filter(({ id }) => id !== shown) ?? []
  return (
    <Panel title={own.earlier}>
      <Waiting of={earlier} />
      {earlier.data && items.length === 0 && <Empty title={own.none} about={own.noneAbout} />}
      <ul className="rows">
        {items.map(({ id, format, createdAt, dryRun, rows, state, tenant }) => (
          <li key={id}>
            <div>
              <strong>
                {formatNames[format]} · {own.states[state]}
                {dryRun && ` · ${own.dryRun}`}
              </strong>
              <span className="about">
                {formats.time(createdAt)} · {own.rows}: {formats.count(rows)} · {tenant}
              </span>
            </div>
            <Button
              className="button small"
              aria-label={`${own.show}: ${formats.time(createdAt)}`}
              onPress={() => onShow(id)}
            >
              {own.show}
            </Button>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
