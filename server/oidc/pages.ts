// Two addresses that a browser is led to: the one that sends it to the identity provider, and the one that it comes back to. Both end
// in a redirect, or in a small page that says why not and leads back to the other ways to sign in.
import { Router, type Request, type RequestHandler, type Response } from 'express'
import { methodNotAllowed } from '../api/http.ts'
import type { Origin } from '../api/operation.ts'
import type { Config } from '../config.ts'
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import { isUnavailable, type Postgres } from '../connections/postgres.ts'
import { QuickLinkError, toProblem, unavailable } from '../errors.ts'
import { html, sniffing, styleOf, wantsHtml } from '../redirect/pages.ts'
import type { Sessions } from '../sessions/api.ts'
import { admit, dismiss, NoRoom, type Person } from './members.ts'
import {
  isForeign,
  isUnable,
  openProvider,
  reasonOf,
  refusalIn,
  type Claims,
  type Provider,
  type Trip,
} from './provider.ts'
import { groupsIn, placeOf } from './roles.ts'

type Told = (why: Readonly<Record<string, unknown>>) => void

interface OidcNeeds {
  readonly sql: Postgres
  readonly sessions: Pick<Sessions, 'cookie' | 'signIn'>
}

interface OidcDeps extends OidcNeeds {
  /** Who came back, and has no place here or nothing to be believed. */
  readonly onRefused: Told
  readonly onUnable: Told
}

type OidcConfig = Pick<
  Config,
  'publicUrl' | 'oidcIssuer' | 'oidcClientId' | 'oidcClientSecret' | 'oidcScopes' | 'oidcGroupsClaim' | 'oidcRoles'
>

export function oidcPages({ config, strangers, troubles }: Ground, needs: OidcNeeds): Router {
  const router = Router({ caseSensitive: true })
  const provider = providerOf(config)
  if (provider === undefined) return router
  const deps: OidcDeps = {
    ...needs,
    onRefused: (why) => strangers.warn(why, 'somebody was not let in by the identity provider'),
    onUnable: (why) => troubles.warn(why, 'nobody can sign in by the identity provider'),
  }
  const { cookie } = deps.sessions
  let underWay = 0
  const page = (work: (request: Request, response: Response) => Promise<string>): RequestHandler => {
    return async (request, response) => {
      try {
        cookie.refuseWhereUnsafe()
        if (underWay >= limits.oidcUnderWay) throw unavailable('Too many are signing in at the moment: try again soon.')
        underWay++
        const to = await work(request, response).finally(() => underWay--)
        response.writeHead(302, { Location: to, ...quiet }).end()
      } catch (error) {
        const problem = translate(error, provider, deps)
        if (!wantsHtml(request.headers.accept)) throw problem
        sendRefusal(response, problem)
      }
    }
  }
  const begin = page(async (request, response) => {
    const returnTo = localPath(request.query['returnTo'], config.publicUrl)
    if (isFromElsewhere(request)) return signInPage
    const { url, trip } = await provider.begin()
    response.setHeader('Set-Cookie', cookie.trip.write(pack(trip, returnTo), limits.oidcMinutes / 60))
    return url.href
  })
  const end = page((request, response) => comeBack(config, deps, provider, request, response))
  router.route('/sign-in/oidc').get(begin).all(methodNotAllowed('GET'))
  router.route('/sign-in/oidc/callback').get(end).all(methodNotAllowed('GET'))
  return router
}

const signInPage = '/console/sign-in'

/** A page of others may lead here, but nobody is signed in by it without a button: it would end the session that the browser has. */
const isFromElsewhere = ({ headers: { 'sec-fetch-site': site } }: Request): boolean =>
  site === 'cross-site' || site === 'same-site'

function providerOf({ publicUrl, oidcIssuer: issuer, ...config }: OidcConfig): Provider | undefined {
  const { oidcClientId: clientId, oidcClientSecret: clientSecret, oidcScopes: scopes } = config
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined
  const redirectUri = `${publicUrl}/api/v1/sign-in/oidc/callback`
  return openProvider({ issuer, clientId, clientSecret, scopes, groupsClaim: config.oidcGroupsClaim, redirectUri })
}

async function comeBack(
  config: OidcConfig,
  { sql, sessions: { cookie, signIn }, onRefused }: OidcDeps,
  provider: Provider,
  request: Request,
  response: Response,
): Promise<string> {
  response.setHeader('Set-Cookie', cookie.trip.remove())
  const taken = unpack(cookie.trip.read(request))
  if (taken === undefined) throw noTrip()
  const address = (response.locals['address'] as () => string)()
  const attempt = signIn.guesses.begin(`oidc ${address}`)
  const query = request.originalUrl.indexOf('?')
  const claims = await provider
    .end(query < 0 ? '' : request.originalUrl.slice(query), taken.trip)
    .catch((error: unknown) => {
      // Nobody has guessed: it could not look, or says no by itself.
      if (isUnable(error) || refusalIn(error) !== undefined) attempt.giveBack()
      throw error
    })
  attempt.giveBack()
  const person = personOf(claims)
  const groups = groupsIn(claims[config.oidcGroupsClaim])
  const place = placeOf(config.oidcRoles ?? [], groups)
  const origin: Origin = { action: 'signIn', address: (response.locals['wholeAddress'] as () => string)() }
  if (place === undefined) {
    await sql.transaction((sql) => dismiss(sql, person, origin))
    onRefused({ address, claim: config.oidcGroupsClaim, groups: claims[config.oidcGroupsClaim] === undefined ? null : cut(groups) }) // prettier-ignore
    throw noPlace(config.oidcGroupsClaim, claims[config.oidcGroupsClaim] === undefined)
  }
  const signedIn = await sql
    .transaction(async (sql) => {
      const caller = await admit(sql, person, place, origin)
      return signIn.begin(sql, caller, { by: 'oidc', request, origin })
    })
    .catch(async (error: unknown) => {
      // Who is refused is no member any more, as above.
      if (error instanceof NoRoom) await sql.transaction((sql) => dismiss(sql, person, origin))
      throw error
    })
  response.setHeader('Set-Cookie', [cookie.trip.remove(), signedIn.cookie])
  return localPath(taken.returnTo, config.publicUrl)
}

function personOf({ iss: issuer, sub: subject, name, preferred_username: login }: Claims): Person {
  if (subject.length > limits.oidcSubject || !subject.isWellFormed() || subject.includes('\0')) {
    throw new QuickLinkError('forbidden', `The claim sub has more than ${limits.oidcSubject} characters, or some that are none.`) // prettier-ignore
  }
  const called = [name, login].find((text) => typeof text === 'string' && clean(text) !== '')
  return { issuer, subject, name: clean(typeof called === 'string' ? called : subject) }
}

const clean = (text: string): string =>
  // eslint-disable-next-line no-control-regex
  Array.from(text.slice(0, 4 * limits.memberName).replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' '))
    .slice(0, limits.memberName)
    .join('')
    .toWellFormed()
    .trim()

const cut = (groups: readonly string[]): string[] =>
  groups.slice(0, limits.oidcLoggedGroups).map((group) => group.slice(0, limits.oidcLoggedGroup))

/** Only a page of the console: a short link of this host may lead anywhere. */
export function localPath(given: unknown, publicUrl: string): string {
  const home = '/console'
  if (typeof given !== 'string' || given.length > limits.returnTo || !URL.canParse(given, publicUrl)) return home
  const { origin, pathname, search } = new URL(given, publicUrl)
  if (origin !== new URL(publicUrl).origin) return home
  return pathname === home || pathname.startsWith(`${home}/`) ? pathname + search : home
}

const pack = ({ state, nonce, verifier }: Trip, returnTo: string): string => `${state}.${nonce}.${verifier}.${returnTo}`

function unpack(text = ''): { readonly trip: Trip; readonly returnTo: string } | undefined {
  const [, state, nonce, verifier, returnTo] = /^([\w-]{43})\.([\w-]{43})\.([\w-]{43})\.(.*)$/.exec(text) ?? []
  if (state === undefined || nonce === undefined || verifier === undefined || returnTo === undefined) return undefined
  return { trip: { state, nonce, verifier }, returnTo }
}

function translate(error: unknown, { issuer }: Provider, { onRefused, onUnable }: OidcDeps): QuickLinkError {
  if (error instanceof QuickLinkError) return error
  if (isUnavailable(error)) return unavailable('The database cannot answer at the moment: try again soon.', error)
  const why = { issuer, why: reasonOf(error) }
  if (!isForeign(error)) {
    onUnable(why)
    return new QuickLinkError('unavailable', `The identity provider at ${issuer} cannot sign anybody in at the moment; the log of QuickLink says why. Sign in with a key, or try again later.`, { retryAfterS: 10 }) // prettier-ignore
  }
  onRefused(why)
  const said = refusalIn(error)
  return said === undefined
    ? noTrip()
    : new QuickLinkError('forbidden', `The identity provider has not signed you in, and says: ${said}.`)
}

const noTrip = (): QuickLinkError =>
  new QuickLinkError('forbidden', `This is no answer to a sign-in that this browser has begun within the last ${limits.oidcMinutes} minutes: begin again.`) // prettier-ignore

const noPlace = (claim: string, isMissing: boolean): QuickLinkError =>
  new QuickLinkError(
    'forbidden',
    isMissing
      ? `The identity provider knows you, but says nothing of your groups: the claim ${claim} is missing. Whoever runs the provider has to add it.`
      : `The identity provider knows you, but its claim ${claim} has none of the groups that are let in here. Ask whoever runs QuickLink for one.`,
  )

const quiet = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' }

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? '')

function sendRefusal(response: Response, error: QuickLinkError): void {
  const { status, headers, body } = toProblem(error)
  response.writeHead(status, {
    ...headers,
    ...quiet,
    ...sniffing,
    'Content-Type': html,
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  })
  response.end(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>You are not signed in</title>
${styleOf('a{color:inherit}')}
<main><h1>You are not signed in</h1><p>${escaped(String(body['detail']))}</p>
<p><a href="${signInPage}">Other ways to sign in</a></p></main></html>
`)
}
