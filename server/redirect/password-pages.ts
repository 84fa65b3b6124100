// What a link with a password is answered, until the right one comes: a page with a form for a browser, which needs no
// script, and a problem for everyone else.
//
// Its policy says nothing of form-action: Chrome holds the redirect that follows to it, too.
import { limits } from '../limits.ts'
import { QuickLinkError, toProblem } from '../errors.ts'
import type { FormRefused } from '../passwords/guard.ts'
import { Page, perSecond, sniffing, wantsHtml } from './pages.ts'

const fields = {
  'Cache-Control': 'no-store',
  Vary: 'Accept',
  ...sniffing,
  // Whoever is led on does not say where from.
  'Referrer-Policy': 'no-referrer',
}
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

// Nothing of the request is ever part of it. Without an action, the form goes to where it was asked for, query and all.
const form = (isWrong: boolean): string => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${isWrong ? 'Not the password' : 'Password'}</title>
<style>
:root{color-scheme:light dark}
body{font:1.1rem/1.5 system-ui,sans-serif;margin:15vh auto 0;max-width:26rem;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.5rem;line-height:1.3;margin:0 0 1.2rem}
label{display:block;font-weight:600;margin-bottom:.3rem}
input,button{box-sizing:border-box;font:inherit;width:100%;min-height:2.9rem;border-radius:.4rem}
input{border:1px solid #767676;padding:.4rem .7rem;background:#fff;color:#222}
input[aria-invalid]{border-color:#b3261e}
button{border:1px solid transparent;background:#1d4ed8;color:#fff;font-weight:600;margin-top:1rem;cursor:pointer}
:focus-visible{outline:3px solid #1d4ed8;outline-offset:2px}
#wrong{color:#b3261e;margin:.4rem 0 0}
@media(prefers-color-scheme:dark){
body{background:#111;color:#ddd}
input{background:#1c1c1c;color:#eee;border-color:#8a8a8a}
input[aria-invalid]{border-color:#f2b8b5}
:focus-visible{outline-color:#60a5fa}
#wrong{color:#f2b8b5}
}
</style>
<main><h1>This link asks for a password</h1>
<form method="post">
<label for="password">Password</label>
<input id="password" name="password" type="password" required autofocus autocomplete="off" maxlength="${2 * limits.passwordMost}"${
  isWrong ? ' aria-invalid="true" aria-describedby="wrong"' : ''
}>
${isWrong ? '<p id="wrong" role="alert">That is not the password. Please try again.</p>\n' : ''}<button>Open the link</button>
</form></main></html>
`

const formPage = (status: number, isWrong: boolean): Page =>
  new Page(status, () => [
    { ...fields, 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy },
    form(isWrong),
  ])

const problemPage = (detail: string): Page => {
  const { status, body } = toProblem(new QuickLinkError('password_required', detail))
  return new Page(status, () => [{ ...fields, 'Content-Type': 'application/problem+json' }, JSON.stringify(body)])
}

const asked = [
  problemPage('This link asks for a password: POST it as the field password of a form.'),
  formPage(200, false),
] as const
const wrong = [
  problemPage('That is not the password of this link: POST it as the field password of a form.'),
  formPage(403, true),
] as const

export const passwordAsked = (accept: string | undefined): Page => asked[wantsHtml(accept) ? 1 : 0]
export const passwordWrong = (accept: string | undefined): Page => wrong[wantsHtml(accept) ? 1 : 0]

export const tooManyPasswords = perSecond(
  'rate_limited',
  'Too many passwords that were not right came from your address. Please try again later.',
)
export const passwordsBusy = Page.of(
  new QuickLinkError('unavailable', 'Too many passwords are being looked at. Please try again in a moment.', {
    retryAfterS: limits.passwordsRetryS,
  }),
)
/** A form that was not read to its end. */
export const formRefused: Readonly<Record<FormRefused['why'], Page>> = {
  too_large: Page.of(new QuickLinkError('too_large', `The form must not be larger than ${limits.formBytes} bytes.`)),
  too_slow: Page.of(
    new QuickLinkError('invalid', `The form did not come whole within ${limits.formMs / 1000} seconds.`),
  ),
}
/** The link is another one by now: it is asked for anew. */
export const askAnew = (location: string): Page =>
  new Page(303, () => [{ Location: location, 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' }, ''])
