// Sign-in for browsers. A key is exchanged for a session, whose token is in a cookie, and whose SHA-256 is in Postgres.
import { randomBytes } from 'node:crypto'
import { route, type By, type Caller, type Route } from '../api/operation.ts'
import { note } from '../audit/store.ts'
import type { Config } from '../config.ts'
import type { Postgres } from '../connections/postgres.ts'
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
  readonly sql: Postgres
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
    return { tenant, role, isOwner: role === 'owner', kind: 'key', id: keyId, name: keyName, sessionId }
  }
  const callerOf = rememberCallers({ formOf, find, onTooMany, nowMs: () => performance.now() })
  return { cookie, callerOf, routes: sessionRoutes({ ...deps, cookie }) }
}

type RoutesDeps = Omit<SessionsDeps, 'onTooMany'> & { readonly cookie: SessionCookie }

export function sessionRoutes({ sql, cookie, authenticate, onRefused }: RoutesDeps): Route[] {
  return [
    route(operations.signIn, async ({ body, request, address, origin }) => {
      cookie.refuseWhereUnsafe()
      cookie.refuseOtherSites(request)
      const caller = await authenticate(`Bearer ${body.key}`, address).catch((error: unknown) => {
        if (!(error instanceof QuickLinkError) || error.code !== 'unauthorized') throw error
        onRefused(address())
        throw new QuickLinkError('unauthorized', 'This key does not work: it is mistyped, or has ended.', error.extras)
      })
      // Who had another session in this browser has it no longer.
      const before = cookie.read(request)
      const token = newToken()
      const id = `session_${randomBytes(9).toString('base64url')}`
      const row = await sql.transaction(async (sql) => {
        if (before !== undefined) await deleteSession(sql, sha256(before))
        const made = await insertSession(sql, { id, tokenHash: sha256(token), keyId: caller.id })
        note(sql, { ...origin, caller }, { tenant: caller.tenant, kind: 'session', target: id })
        return made
      })
      return { body: present(row, caller), headers: { 'Set-Cookie': cookie.write(token) } }
    }),
    route(operations.readSession, async ({ caller }) => {
      const row = (await listSessions(sql, caller.id)).find(({ id }) => id === caller.sessionId)
      if (!row) throw noSession()
      return { body: present(row, caller) }
    }),
    route(operations.signOut, async ({ caller, by }) => {
      if (caller.sessionId === undefined) throw noSession()
      await end(sql, by, caller.sessionId)
      return { headers: { 'Set-Cookie': cookie.remove() } }
    }),
    route(operations.listSessions, async ({ caller }) => ({
      body: {
        items: (await listSessions(sql, caller.id)).map((row) => ({
          ...shown(row),
          current: row.id === caller.sessionId,
        })),
      },
    })),
    route(operations.endSessions, async ({ by }) => {
      await end(sql, by, null)
      return undefined
    }),
    route(operations.endSession, async ({ by, params: { id } }) => {
      if (await end(sql, by, id)) return undefined
      throw new QuickLinkError('not_found', `There is no session ${id} of this key.`)
    }),
  ]
}

/** null: all of whoever asks. Whether there were some. */
const end = (sql: Postgres, by: By, id: string | null): Promise<boolean> =>
  sql.transaction(async (sql) => {
    const { id: whose, kind, tenant } = by.caller
    const gone = await deleteSessions(sql, whose, id)
    const all = { tenant, kind, target: whose, changes: { sessions: { before: gone, after: 0 } } }
    if (gone > 0) note(sql, by, id === null ? all : { tenant, kind: 'session', target: id })
    return gone > 0
  })

const noSession = (): QuickLinkError =>
  new QuickLinkError('not_found', 'Nobody is signed in here: this request came with a key, not with a session.')

const shown = (row: SessionRow) => ({
  id: row.id,
  createdAt: row.createdAt.toISOString(),
  usedAt: row.usedAt.toISOString(),
  endsAt: row.endsAt.toISOString(),
})

const present = (row: SessionRow, { tenant, role, name }: Caller): SessionShown => ({
  ...shown(row),
  tenant,
  role,
  keyName: name,
})
