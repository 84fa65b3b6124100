// What every way of signing in ends with: a session of its own, in the place of what this browser had before, and bounded in how
// often.
import type { Request } from 'express'
import type { Caller, Origin } from '../api/operation.ts'
import { note } from '../audit/store.ts'
import { limits } from '../limits.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import { createAttempts } from '../tenants/attempts.ts'
import { sha256 } from '../tenants/callers.ts'
import type { SessionCookie } from './cookie.ts'
import { deleteSession, insertSession, takeLink, type SessionRow } from './store.ts'
import { formOf, newId, newToken } from './token.ts'

export interface SignedIn {
  readonly caller: Caller
  readonly row: SessionRow
  /** For `Set-Cookie`. */
  readonly cookie: string
}

export interface Way {
  readonly by: 'key' | 'link' | 'oidc'
  readonly request: Request
  readonly origin: Origin
}

export type SignIn = ReturnType<typeof createSignIn>

export function createSignIn(sql: Postgres, cookie: SessionCookie, onTooMany: () => void) {
  const nowMs = (): number => performance.now()
  const guesses = createAttempts(nowMs, onTooMany)
  const signIns = createAttempts(nowMs, onTooMany, {
    most: limits.signInsPerMinute,
    detail: 'This account has signed in too often within a minute: try again later.',
  })

  /** In a transaction. */
  const begin = async (sql: Sql, caller: Caller, { by, request, origin }: Way): Promise<SignedIn> => {
    signIns.begin(caller.id)
    const hours = by === 'oidc' ? limits.sessionOidcHours : limits.sessionDays * 24
    const token = newToken('qs')
    const id = newId('session')
    const before = cookie.read(request)
    if (before !== undefined) await deleteSession(sql, sha256(before))
    if (caller.kind === 'member') {
      void sql.query('update members set signed_in_at = now() where id = $1', [caller.id])
    }
    const row = await insertSession(sql, caller, { id, tokenHash: sha256(token), hours })
    const changes = { by: { after: by } }
    note(sql, { ...origin, caller }, { tenant: caller.tenant, kind: 'session', target: id, changes })
    return { caller: { ...caller, sessionId: id }, row, cookie: cookie.write(token, hours) }
  }

  return {
    begin,
    guesses,
    asKey: (caller: Caller, way: Way): Promise<SignedIn> => sql.transaction((sql) => begin(sql, caller, way)),
    /** By a link that signs in once. */
    byLink(token: string, way: Way, address: string): Promise<SignedIn> {
      if (formOf('qi', token) === 'mistyped') throw noLink()
      const attempt = guesses.begin(`link ${address}`)
      return sql.transaction(async (sql) => {
        const caller = await takeLink(sql, sha256(token))
        if (!caller) throw noLink()
        attempt.giveBack()
        return begin(sql, caller, way)
      })
    },
  }
}

export const noLink = (): QuickLinkError =>
  new QuickLinkError(
    'unauthorized',
    'This link does not sign in any more: it was used, a newer one has taken its place, or its time is over. Ask for another one.',
    { headers: { 'WWW-Authenticate': 'Bearer' } },
  )
