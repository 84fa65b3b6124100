// Where a link leads, for whoever wants to know before following it. What it shows was chosen by others: it is escaped, and
// nothing of it can run.
import { html, Page, policy, styleOf, unfit } from './pages.ts'

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)

/** What the serialiser of URLs writes; a row put in by hand may hold anything. */
const isAddress = (url: string): boolean => /^https?:\/\/[\x21-\x7e]+$/.test(url) && URL.canParse(url)

export function previewPage(shortUrl: string, url: string): Page {
  if (!isAddress(url)) return unfit
  const host = escaped(new URL(url).host)
  const text = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Where this short link leads</title>
${styleOf(`h1,p{overflow-wrap:anywhere}a{color:#0645ad}
@media(prefers-color-scheme:dark){a{color:#8ab4f8}}`)}
<main><h1>This link leads to ${host}</h1>
<p>${escaped(shortUrl)} leads to:</p>
<p><a href="${escaped(url)}" rel="nofollow noopener noreferrer">${escaped(url)}</a></p></main></html>
`
  return new Page(200, () => [
    {
      'Cache-Control': 'no-store',
      'Content-Type': html,
      ...policy,
      'Content-Security-Policy': `${policy['Content-Security-Policy']}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'Referrer-Policy': 'no-referrer',
      'X-Robots-Tag': 'noindex',
    },
    text,
  ])
}
