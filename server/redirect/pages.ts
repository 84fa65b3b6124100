// What a visitor sees instead of a redirect: a small page in a browser, problem+json for everyone else.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toProblem, type QuickLinkError } from '../errors.ts'

interface Rendered {
  readonly status: number
  readonly fields: readonly string[]
  readonly text: string
  readonly encoding: 'latin1' | 'utf8'
}

/** A scan of absent codes gets the same answer again and again: it is put together once. */
const rendered = { pages: new WeakMap<QuickLinkError, Rendered>(), problems: new WeakMap<QuickLinkError, Rendered>() }

export function answerProblem(req: IncomingMessage, res: ServerResponse, error: QuickLinkError): number {
  const forBrowser = wantsHtml(req.headers.accept)
  const known = forBrowser ? rendered.pages : rendered.problems
  let answer = known.get(error)
  if (answer === undefined) known.set(error, (answer = render(error, forBrowser)))
  res.writeHead(answer.status, answer.fields as string[])
  if (req.method === 'HEAD') res.end()
  else res.end(answer.text, answer.encoding)
  return answer.status
}

function render(error: QuickLinkError, forBrowser: boolean): Rendered {
  const { status, headers, body } = toProblem(error)
  const text = forBrowser ? page(String(body['title']), String(body['detail'])) : JSON.stringify(body)
  const length = Buffer.byteLength(text)
  const fields = {
    ...headers,
    'Cache-Control': 'no-store',
    'Content-Type': forBrowser ? 'text/html; charset=utf-8' : 'application/problem+json',
    'Content-Length': String(length),
    Vary: 'Accept',
    'X-Content-Type-Options': 'nosniff',
    ...(forBrowser ? { 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'" } : {}),
  }
  // One byte a character goes to the kernel without being encoded.
  return { status, fields: Object.entries(fields).flat(), text, encoding: length === text.length ? 'latin1' : 'utf8' }
}

/** Browsers name text/html first or alone; tools say anything, or JSON. */
const wantsHtml = (accept: string | undefined): boolean => accept?.includes('text/html') === true

// Nothing of the request is ever part of a page.
const page = (title: string, detail: string): string => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;margin:20vh auto 0;max-width:32rem;padding:0 1rem;color:#222}
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}</style>
<h1>${title}</h1><p>${detail}</p></html>
`
