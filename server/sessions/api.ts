// Sign-in for browsers. A key is exchanged for a session, whose token is in a cookie, and whose SHA-256 is in Postgres.
import { randomBytes } from 'node:crypto'
import { route, type Caller, type Route } from '../api/operation.ts'
import type { Config } from '../config.ts'
import type { Sql } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import { checksumOf, rememberCallers, sha256, type CallerOf, type SecretForm } from '../tenants/callers.ts'
import { roleWithout, type Authenticate } from '../tenants/keys.ts'
import { sessionCookie, type SessionCookie } from './cookie.ts'
import * as operations from './operations.ts'
import type { SessionShown } from './operations.ts'
import { deleteSession, deleteSessions, findSession, insertSession, listSessions, type SessionRow } from './store.ts'

/** 256 bits, and a checksum: a guess costs no question. */
function newToken(): string {
  const random = `qs_${randomBytes(32).toString('base64url')}`
  return random + checksumOf(random)
}

function formOf(token: string): SecretForm {
  const [, random, checksum] = /^(qs_[\w-]{43})([\w-]{6})$/.exec(token) ?? []
  return random !== undefined && checksumOf(random) === checksum ? 'checked' : 'mistyped'
}

interface SessionsDeps {
  readonly sql: Sql
  /** By a key. */
  readonly authenticate: Authenticate
  readonly onTooMany: () => void
  /** A key that was refused, and from where. */
  readonly onRefused: (address: string) => void
}

export interface Sessions {
  readonly cookie: SessionCookie
  /** By the token in the cookie. */
  readonly callerOf: CallerOf
  readonly routes: readonly Route[]
}

export function openSessions({ publicUrl }: Pick<Config, 'publicUrl'>, deps: SessionsDeps): Sessions {
  const { sql, onTooMany } = deps
  const cookie = sessionCookie(publicUrl)
  const find = async (_token: string, hash: Buffer): Promise<Caller | undefined> => {
    const found = await findSession(sql, hash)
    if (!found) return undefined
    const { tenant, keyId, keyName, sessionId } = found
    const role = found.role ?? roleWithout(tenant)
    return { tenant, role, isOwner: role === 'owner', keyId, keyName, sessionId }
  }
  const callerOf = rememberCallers({ formOf, find, onTooMany, nowMs: () => performance.now() })
  return { cookie, callerOf, routes: sessionRoutes({ ...deps, cookie }) }
}

type RoutesDeps = Omit<SessionsDeps, 'onTooMany'> & { readonly cookie: SessionCookie }

export function sessionRoutes({ sql, cookie, authenticate, onRefused }: RoutesDeps): Route[] {
  return [
    route(operations.signIn, async ({ body, request, address }) => {
      cookie.refuseWhereUnsafe()
      cookie.refuseOtherSites(request)
      const caller = await authenticate(`Bearer ${body.key}`, address).catch((error: unknown) => {
        if (!(error instanceof QuickLinkError) || error.code !== 'unauthorized') throw error
        onRefused(address())
        throw new QuickLinkError('unauthorized', 'This key does not work: it is mistyped, or has ended.', error.extras)
      })
      // Who had another session in this browser has it no longer.
      const before = cookie.read(request)
      if (before !== undefined) await deleteSession(sql, sha256(before))
      const token = newToken()
      const id = `session_${randomBytes(9).toString('base64url')}`
      const row = await insertSession(sql, { id, tokenHash: sha256(token), keyId: caller.keyId })
      return { body: present(row, caller), headers: { 'Set-Cookie': cookie.write(token) } }
    }),
    route(operations.readSession, async ({ caller }) => {
      const row = (await listSessions(sql, caller.keyId)).find(({ id }) => id === caller.sessionId)
      if (!row) throw noSession()
      return { body: present(row, caller) }
    }),
    route(operations.signOut, async ({ caller: { keyId, sessionId } }) => {
      if (sessionId === undefined) throw noSession()
      await deleteSessions(sql, keyId, sessionId)
      return { headers: { 'Set-Cookie': cookie.remove() } }
    }),
    route(operations.listSessions, async ({ caller }) => ({
      body: {
        items: (await listSessions(sql, caller.keyId)).map((row) => ({
          ...shown(row),
          current: row.id === caller.sessionId,
        })),
      },
    })),
    route(operations.endSessions, async ({ caller }) => {
      await deleteSessions(sql, caller.keyId, null)
      return undefined
    }),
    route(operations.endSession, async ({ caller, params: { id } }) => {
      if ((await deleteSessions(sql, caller.keyId, id)) > 0) return undefined
      throw new QuickLinkError('not_found', `There is no session ${id} of this key.`)
    }),
  ]
}

const noSession = (): QuickLinkError =>
  new QuickLinkError('not_found', 'Nobody is signed in here: this request came with a key, not with a session.')

const shown = (row: SessionRow) => ({
  id: row.id,
  createdAt: row.createdAt.toISOString(),
  usedAt: row.usedAt.toISOString(),
  endsAt: row.endsAt.toISOString(),
})

const present = (row: SessionRow, { tenant, role, keyName }: Caller): SessionShown => ({
  ...shown(row),
  tenant,
  role,
  keyName,
})
