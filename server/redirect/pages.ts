// What a visitor sees instead of a redirect: a small page in a browser, problem+json for everyone else.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toProblem, type QuickLinkError } from '../errors.ts'

export function answerProblem(req: IncomingMessage, res: ServerResponse, error: QuickLinkError): number {
  const { status, headers, body } = toProblem(error)
  const forBrowser = wantsHtml(req.headers.accept)
  const text = forBrowser ? page(String(body['title']), String(body['detail'])) : JSON.stringify(body)
  res.writeHead(status, {
    ...headers,
    'Cache-Control': 'no-store',
    'Content-Type': forBrowser ? 'text/html; charset=utf-8' : 'application/problem+json',
    'Content-Length': Buffer.byteLength(text),
    Vary: 'Accept',
    'X-Content-Type-Options': 'nosniff',
    ...(forBrowser ? { 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'" } : {}),
  })
  res.end(req.method === 'HEAD' ? undefined : text)
  return status
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
