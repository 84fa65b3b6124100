// The first thing on the page: an address goes in, Enter, and its short one is copied.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { Link as To, useLocation } from 'wouter'
import { answerOf, api, type Link } from '../api.ts'
import { CopyButton, copy } from '../parts/copy.tsx'
import { Form, sentenceOf } from '../parts/page.tsx'
import { useShortcut } from '../parts/shortcuts.tsx'
import { toast } from '../parts/toasts.tsx'
import { useMe } from '../session.tsx'
import { useWords } from '../words/words.tsx'
import { shortOf, useLinkWrites } from './use-link-writes.ts'
import { Act } from '../parts/act.tsx'

/** As it is typed: without a scheme it is https. Undefined: no address. */
export function addressIn(text: string): string | undefined {
  const trimmed = text.trim()
  if (trimmed === '' || /\s/.test(trimmed)) return undefined
  const whole = /^[a-z][a-z0-9+.-]*:/i.test(trimmed) && !/^[\w.-]+:\d/.test(trimmed) ? trimmed : `https://${trimmed}`
  if (!URL.canParse(whole)) return undefined
  const { protocol, hostname, href } = new URL(whole)
  return /^https?:$/.test(protocol) && (hostname.includes('.') || hostname === 'localhost') ? href : undefined
}

export const pathOfLink = ({ code, domain }: Pick<Link, 'code' | 'domain'>): string =>
  `/links/${code}${domain === null ? '' : `?domain=${encodeURIComponent(domain)}`}`

export function Shorten() {
  const words = useWords()
  const { tenant } = useMe()
  const [text, setText] = useState('')
  const [, go] = useLocation()
  const { create } = useLinkWrites(tenant)
  const field = useRef<HTMLInputElement>(null)
  useShortcut('n', () => field.current?.focus())
  const url = addressIn(text)
  const say = (link: Link, isCopied: boolean): void =>
    toast({
      text: isCopied ? words.shorten.copied(shortOf(link)) : words.shorten.made(shortOf(link)),
      actions: [
        ...(isCopied ? [] : [{ label: words.copying.copy, act: () => void copy(link.shortUrl) }]),
        { label: words.shorten.open, act: () => go(pathOfLink(link)) },
      ],
    })
  const submit = (): void => {
    if (text.trim() === '') return
    // What is no address, too: the server says what is wrong with it.
    create.mutate(
      { url: url ?? text.trim() },
      {
        onSuccess(link) {
          setText('')
          void copy(link.shortUrl).then((isCopied) => say(link, isCopied))
        },
      },
    )
  }
  return (
    <div className="shorten">
      <Form onSubmit={submit}>
        <input
          className="input"
          type="text"
          inputMode="url"
          ref={field}
          aria-keyshortcuts="n"
          autoComplete="off"
          spellCheck={false}
          aria-label={words.shorten.label}
          aria-describedby="shorten-said"
          placeholder={words.shorten.placeholder}
          value={text}
          autoFocus
          onChange={({ target }) => {
            create.reset()
            setText(target.value)
          }}
        />
        <Act className="button strong" type="submit" isPending={create.isPending}>
          {words.shorten.go}
        </Act>
      </Form>
      <div id="shorten-said" className="shorten-said" aria-live="polite">
        {create.isError && <p className="problem">{sentenceOf(create.error, words)}</p>}
        {!create.isError && <Existing url={url} tenant={tenant} />}
        <To to={url === undefined ? '/new' : `/new?url=${encodeURIComponent(url)}`} className="about">
          {words.shorten.more}
        </To>
      </div>
    </div>
  )
}

const pauseMs = 250

/** While one types: there is a link to this already. */
export function Existing({ url, tenant }: { readonly url: string | undefined; readonly tenant: string }) {
  const words = useWords()
  const [asked, setAsked] = useState<string>()
  useEffect(() => {
    const timer = setTimeout(() => setAsked(url), pauseMs)
    return () => clearTimeout(timer)
  }, [url])
  const found = useQuery({
    queryKey: ['links', 'to', asked],
    queryFn: () => answerOf(api.GET('/links', { params: { query: { url: asked!, tenant, limit: 1 } } })),
    enabled: asked !== undefined && asked === url,
  })
  const link = asked === url ? found.data?.items[0] : undefined
  if (!link) return null
  return (
    <p className="existing">
      {words.shorten.existing} <To to={pathOfLink(link)}>{shortOf(link)}</To>
      <CopyButton text={link.shortUrl} label={shortOf(link)} />
    </p>
  )
}
