// Links that sign in once: a member's invitation, and the owner's from the terminal. The token is in the fragment, which no
// browser sends and no log has; Postgres has its SHA-256.
import type { Sql } from '../connections/postgres.ts'
import { sha256 } from '../tenants/callers.ts'
import type { SessionCookie } from './cookie.ts'
import { putLink, type Account } from './store.ts'
import { newToken } from './token.ts'

export interface LinkOnce {
  readonly url: string
  readonly endsAt: string
}

export type MakeLink = (sql: Sql, of: Account, minutes: number, by: Account) => Promise<LinkOnce>

export const linkMaker =
  (publicUrl: string, cookie: Pick<SessionCookie, 'refuseWhereUnsafe'>): MakeLink =>
  async (sql, of, minutes, by) => {
    cookie.refuseWhereUnsafe()
    const token = newToken('qi')
    const endsAt = await putLink(sql, of, { tokenHash: sha256(token), minutes, by })
    return { url: `${publicUrl}/console/sign-in#token=${token}`, endsAt: endsAt.toISOString() }
  }
