// A link: what it is, who came, its QR code, and what caches hold of it.
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { useLocation, useSearchParams } from 'wouter'
import { api, linkKey, markedAnswerOf, named, problemOf, ProblemError, type Link } from '../api.ts'
import { Target } from '../links/table.tsx'
import { useRemove } from '../links/remove.tsx'
import { shortOf, useLinkWrites } from '../links/use-link-writes.ts'
import { CopyButton } from '../parts/copy.tsx'
import { Empty, Form, Loading, Page, Panel, Problem, sentenceOf, Waiting } from '../parts/page.tsx'
import { Icon } from '../parts/icon.tsx'
import { toast } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import { useFormats, useWords } from '../words/words.tsx'
import { AuditPanel } from '../pages/audit.tsx'
import { CachesPanel } from './caches.tsx'
import { ClicksPanel } from './clicks.tsx'
import { Conflict } from './conflict.tsx'
import { changeOf, draftOf, isChanged, type Draft } from './draft.ts'
import { LinkForm } from './form.tsx'
import { HitsLine } from './hits.tsx'
import { Act } from '../parts/act.tsx'

const QrPanel = lazy(() => import('./qr.tsx'))

interface Marked {
  readonly value: Link
  readonly etag: string
}

export default function LinkPage({ code }: { readonly code: string }) {
  const words = useWords()
  const [params] = useSearchParams()
  const [, go] = useLocation()
  const which = { code, domain: params.get('domain') }
  const found = useQuery({
    queryKey: linkKey(which),
    queryFn: () => markedAnswerOf(api.GET('/links/{code}', { params: named(which) })),
  })
  if (found.isPending) return <Page title={code}><Loading /></Page> // prettier-ignore
  if (found.isError) {
    const isAbsent = problemOf(found.error).code === 'not_found'
    return (
      <Page title={code}>
        {isAbsent ? (
          <Empty title={words.link.absent} about={words.link.absentAbout}>
            <Button className="button" onPress={() => go('/')}>
              {words.link.toList}
            </Button>
          </Empty>
        ) : (
          <Waiting of={found} />
        )}
      </Page>
    )
  }
  return <Shown key={`${which.domain ?? ''}/${code}`} marked={found.data} />
}

function Shown({ marked }: { readonly marked: Marked }) {
  const link = marked.value
  const words = useWords()
  const { tenant, may } = useMe()
  const [, go] = useLocation()
  const { setEnabled } = useLinkWrites(tenant)
  const { remove, question } = useRemove(link, () => go('/'))
  return (
    <Page
      title={shortOf(link)}
      lead={<Target link={link} />}
      actions={
        <>
          <CopyButton text={link.shortUrl} label={shortOf(link)} withWord />
          {may('editor') && (
            <>
              <Button className="button" onPress={() => setEnabled(link, !link.enabled)}>
                {link.enabled ? words.links.disable : words.links.enable}
              </Button>
              <Button className="button danger" onPress={remove}>
                {words.links.delete}
              </Button>
            </>
          )}
        </>
      }
    >
      {question}
      <div className="columns">
        <Editor marked={marked} />
        <div className="aside">
          <Facts link={link} />
          <ClicksPanel link={link} />
          <Suspense
            fallback={
              <Panel title={words.qr.title}>
                <Loading />
              </Panel>
            }
          >
            <QrPanel link={link} />
          </Suspense>
          {may('owner') && <CachesPanel link={link} />}
          {may('admin') && <AuditPanel title={words.link.history} link={link} />}
        </div>
      </div>
    </Page>
  )
}

/** A form that keeps what was typed when the link changes elsewhere: saving then shows both. */
function Editor({ marked }: { readonly marked: Marked }) {
  const words = useWords()
  const { may } = useMe()
  const [base, setBase] = useState(marked)
  const [draft, setDraft] = useState(() => draftOf(marked.value))
  const [theirs, setTheirs] = useState<Marked>()
  const [isSaving, setSaving] = useState(false)
  const [problem, setProblem] = useState<ProblemError>()
  const queries = useQueryClient()
  const before = draftOf(base.value)
  const changed = isChanged(draft, before)
  // Nothing is typed: what has changed elsewhere is shown.
  if (!changed && marked.etag !== base.etag) reset(marked)

  function reset(to: Marked): void {
    setBase(to)
    setDraft(draftOf(to.value))
    setTheirs(undefined)
    setProblem(undefined)
  }
  const save = async (etag: string, from: Draft): Promise<void> => {
    setSaving(true)
    setProblem(undefined)
    const params = { ...named(base.value), header: { 'If-Match': etag } }
    try {
      const saved = await markedAnswerOf(api.PATCH('/links/{code}', { params, body: changeOf(draft, from) }))
      queries.setQueryData(linkKey(base.value), saved)
      void queries.invalidateQueries({ queryKey: ['links'] })
      void queries.invalidateQueries({ queryKey: ['audit'] })
      reset(saved)
      toast({ text: words.link.saved })
    } catch (error) {
      const failed = problemOf(error)
      if (failed.code !== 'precondition_failed') setProblem(failed)
      else {
        const now = await markedAnswerOf(api.GET('/links/{code}', { params: named(base.value) })).catch(problemOf)
        if (now instanceof ProblemError) setProblem(now)
        else setTheirs(now)
      }
    } finally {
      setSaving(false)
    }
  }
  const text = problem && sentenceOf(problem, words)
  return (
    <Form className="sheet" onSubmit={() => void save(base.etag, before)}>
      <LinkForm
        draft={draft}
        onChange={setDraft}
        problem={problem && { field: problem.field, text: text! }}
        isDisabled={!may('editor')}
        hasPassword={base.value.hasPassword}
        hits={<HitsLine link={base.value} />}
      />
      {(changed || problem) && (
        <div className="save">
          {problem && (
            <Problem>
              <Icon name="alert" /> {text}
            </Problem>
          )}
          <Button className="button" onPress={() => reset(marked)}>
            {words.link.discard}
          </Button>
          <Act className="button strong" type="submit" isPending={isSaving} isDisabled={!changed}>
            {words.link.save}
          </Act>
        </div>
      )}
      {theirs && (
        <Conflict
          base={before}
          mine={draft}
          theirs={draftOf(theirs.value)}
          onClose={() => setTheirs(undefined)}
          onTheirs={() => reset(theirs)}
          onMine={() => {
            setTheirs(undefined)
            void save(theirs.etag, before)
          }}
        />
      )}
    </Form>
  )
}

function Facts({ link }: { readonly link: Link }) {
  const words = useWords()
  const formats = useFormats()
  return (
    <Panel title={words.link.facts}>
      <dl className="facts">
        <dt>{words.filters.state}</dt>
        <dd>
          <span className="badge" data-state={link.state}>
            {words.states[link.state]}
          </span>
        </dd>
        <dt>{words.columns.created}</dt>
        <dd>{formats.time(link.createdAt)}</dd>
        {link.createdBy !== null && (
          <>
            <dt>{words.columns.creator}</dt>
            <dd>{link.createdBy}</dd>
          </>
        )}
        <dt>{words.link.updated}</dt>
        <dd>{formats.time(link.updatedAt)}</dd>
        <dt>{words.filters.tenant}</dt>
        <dd>{link.tenant}</dd>
      </dl>
    </Panel>
  )
}
