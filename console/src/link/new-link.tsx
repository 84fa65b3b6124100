// A new link with all that can be said of it. `/console/new?url=…` is what the bookmarklet opens.
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import { useLocation, useSearchParams } from 'wouter'
import { problemOf } from '../api.ts'
import { copy } from '../parts/copy.tsx'
import { Field } from '../parts/fields.tsx'
import { Icon } from '../parts/icon.tsx'
import { Form, Page, Problem, sentenceOf } from '../parts/page.tsx'
import { toast } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import { pageState } from '../state.ts'
import { useWords } from '../words/words.tsx'
import { Existing, addressIn, pathOfLink } from '../links/shorten.tsx'
import { shortOf, useLinkWrites } from '../links/use-link-writes.ts'
import { changeOf, emptyDraft } from './draft.ts'
import { LinkForm } from './form.tsx'
import { Act } from '../parts/act.tsx'

export default function NewLink() {
  const words = useWords()
  const { tenant } = useMe()
  const [, go] = useLocation()
  const [params] = useSearchParams()
  const [draft, setDraft] = useState({ ...emptyDraft, url: params.get('url') ?? '' })
  const [code, setCode] = useState('')
  const [domain, setDomain] = useState('')
  const { create } = useLinkWrites(tenant)
  const submit = (): void => {
    const { url: _, ...rest } = changeOf(draft, emptyDraft)
    const url = addressIn(draft.url) ?? draft.url.trim()
    const named = {
      ...(code.trim() === '' ? {} : { code: code.trim() }),
      ...(domain.trim() === '' ? {} : { domain: domain.trim() }),
    }
    create.mutate(
      { ...rest, ...named, url },
      {
        onSuccess(link) {
          void copy(link.shortUrl).then((isCopied) => {
            toast({ text: isCopied ? words.shorten.copied(shortOf(link)) : words.shorten.made(shortOf(link)) })
          })
          go(pathOfLink(link), { replace: true })
        },
      },
    )
  }
  const failed = create.isError ? problemOf(create.error) : undefined
  const problem = failed && { field: failed.field, text: sentenceOf(failed, words) }
  return (
    <Page title={words.newLink.title}>
      <Form className="sheet" onSubmit={submit}>
        <LinkForm
          draft={draft}
          onChange={setDraft}
          problem={problem}
          underUrl={<Existing url={addressIn(draft.url)} tenant={tenant} />}
          first={
            <div className="pair">
              <Field
                label={words.newLink.code}
                value={code}
                onChange={setCode}
                about={words.newLink.codeAbout}
                problem={problem?.field === 'code' ? problem.text : undefined}
              />
              <Field
                label={words.newLink.domain}
                value={domain}
                onChange={setDomain}
                placeholder={new URL(pageState.publicUrl).host}
                about={words.newLink.domainAbout}
                problem={problem?.field === 'domain' ? problem.text : undefined}
              />
            </div>
          }
        />
        <div className="save">
          {problem && (
            <Problem>
              <Icon name="alert" /> {problem.text}
            </Problem>
          )}
          <Button className="button" onPress={() => go('/')}>
            {words.cancel}
          </Button>
          <Act
            className="button strong"
            type="submit"
            isPending={create.isPending}
            isDisabled={draft.url.trim() === ''}
          >
            {words.newLink.go}
          </Act>
        </div>
      </Form>
    </Page>
  )
}
