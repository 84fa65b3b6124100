// The cookie that carries a session's token, and which requests may use it.
import type { Request } from 'express'
import { parseCookie, stringifySetCookie } from 'cookie'
import { QuickLinkError } from '../errors.ts'

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/

export function sessionCookie(publicUrl: string) {
  const { protocol, hostname, origin } = new URL(publicUrl)
  const isSecure = protocol === 'https:'
  const mayBe = isSecure || loopback.test(hostname)
  const jar = (name: string) => {
    const written = (value: string, maxAge: number): string =>
      stringifySetCookie({ name, value, path: '/', httpOnly: true, secure: isSecure, sameSite: 'lax', maxAge })
    return {
      /** What a browser sends with it; undefined: nothing. */
      read(request: Pick<Request, 'headers'>): string | undefined {
        const header = request.headers.cookie
        return mayBe && header !== undefined ? parseCookie(header)[name] : undefined
      },
      write: (value: string, hours: number): string => written(value, hours * 3600),
      remove: (): string => written('', 0),
    }
  }
  return {
    // A browser takes a name that begins so only over TLS, for this host alone, and from no other one: nobody can plant it.
    ...jar(isSecure ? '__Host-quicklink' : 'quicklink-session'),
    /** What a browser takes along to an identity provider, and has to bring back. */
    trip: jar(isSecure ? '__Host-quicklink-trip' : 'quicklink-trip'),
    /** Whether a browser may be given one here. */
    mayBe,
    /** No cookie travels where others can read it. */
    refuseWhereUnsafe(): void {
      if (mayBe) return
      throw new QuickLinkError(
        'forbidden',
        `Signing in needs https: PUBLIC_URL is ${origin}. Put TLS before QuickLink and set PUBLIC_URL to its https address.`,
      )
    },
    /**
     * A browser sends the cookie along also where another site has made the request, so a write has to come from a page of
     * ours. Browsers say where a request comes from; older ones name its origin.
     */
    refuseForeign(request: Request): void {
      const { 'sec-fetch-site': site, origin: from } = request.headers
      if (site === 'same-origin' || (site === undefined && from === origin)) return
      throw foreign(origin)
    },
    /** Without a cookie nothing is sent along: what is no browser says neither. */
    refuseOtherSites(request: Request): void {
      const { 'sec-fetch-site': site, origin: from } = request.headers
      if ((site ?? 'same-origin') !== 'same-origin' || (site === undefined && (from ?? origin) !== origin)) {
        throw foreign(origin)
      }
    },
  }
}

export type SessionCookie = ReturnType<typeof sessionCookie>

const foreign = (origin: string): QuickLinkError =>
  new QuickLinkError('forbidden', `A session is only for pages of ${origin}: this request comes from elsewhere.`)
