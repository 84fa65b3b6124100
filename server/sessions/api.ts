// Sign-in for browsers: a key, or a link that signs in once, is exchanged for a session, whose token is in a cookie, and whose SHA-256
// is in Postgres.
import { route, type By, type Caller, type Route } from '../api/operation.ts'
import { note } from '../audit/store.ts'
import type { Ground } from '../ground.ts'
import { limits } from '../limits.ts'
import type { Postgres } from '../connections/postgres.ts'
import { QuickLinkError } from '../errors.ts'
import { rememberCallers, sha256, type CallerOf } from '../tenants/callers.ts'
import type { Authenticate } from '../tenants/keys.ts'
import { sessionCookie, type SessionCookie } from './cookie.ts'
import { linkMaker, type MakeLink } from './links.ts'
import * as operations from './operations.ts'
import type { SessionShown } from './operations.ts'
import { createSignIn, noLink, type SignIn } from './sign-in.ts'
import { deleteLinks, deleteSessions, findLink, findSession, listSessions, type SessionRow } from './store.ts'
import { formOf } from './token.ts'

interface SessionsDeps {
  readonly sql: Postgres
  /** By a key. */
  readonly authenticate: Authenticate
  readonly onTooMany: () => void
  /** A key or a link that was refused, and from where. */
  readonly onRefused: (address: string) => void
}

export interface Sessions {
  readonly cookie: SessionCookie
  readonly signIn: SignIn
  readonly makeLink: MakeLink
  /** By the token in the cookie. */
  readonly callerOf: CallerOf
  readonly routes: readonly Route[]
}

export function openSessions(ground: Ground, deps: Omit<SessionsDeps, 'onRefused'>): Sessions {
  const { publicUrl, oidcIssuer: issuer } = ground.config
  const { sql, onTooMany } = deps
  const cookie = sessionCookie(publicUrl)
  const signIn = createSignIn(sql, cookie, onTooMany)
  const makeLink = linkMaker(publicUrl, cookie)
  const callerOf = rememberCallers({
    formOf: (token) => formOf('qs', token),
    find: (_token, hash) => findSession(sql, hash),
    onTooMany,
    nowMs: () => performance.now(),
  })
  const opened = { cookie, signIn, makeLink, callerOf }
  const onRefused = (address: string): void =>
    ground.strangers.warn({ address }, 'somebody tried to sign in with a key that does not work')
  return { ...opened, routes: sessionRoutes({ ...deps, ...opened, onRefused, issuer }) }
}

type RoutesDeps = Omit<SessionsDeps, 'onTooMany'> &
  Omit<Sessions, 'routes' | 'callerOf'> & {
    /** Of the identity provider, where there is one. */
    readonly issuer: string | undefined
  }

export const sessionRoutes = (deps: RoutesDeps): Route[] => [...ofSignIn(deps), ...ofSessions(deps)]

const ofSignIn = ({ sql, cookie, signIn, makeLink, authenticate, onRefused, issuer }: RoutesDeps): Route[] => {
  /** Tells the log of what was refused, and the caller what to do. */
  const told = async <T>(address: () => string, work: () => Promise<T>, detail?: string): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof QuickLinkError) || error.code !== 'unauthorized') throw error
      onRefused(address())
      throw detail === undefined ? error : new QuickLinkError('unauthorized', detail, error.extras)
    }
  }
  return [
    route(operations.readSignIn, () => {
      const oidc = issuer === undefined ? null : { issuer, start: oidcStart }
      return Promise.resolve({ body: { key: true as const, oidc, safe: cookie.mayBe } })
    }),
    route(operations.signIn, async ({ body, request, address, origin }) => {
      cookie.refuseWhereUnsafe()
      cookie.refuseOtherSites(request)
      const { key, token } = body
      const way = { request, origin, by: token === undefined ? 'key' : 'link' } as const
      const signedIn =
        token === undefined
          ? await signIn.asKey(await told(address, () => authenticate(`Bearer ${key}`, address), noKey), way)
          : await told(address, () => signIn.byLink(token, way, address()))
      return { body: present(signedIn.row, signedIn.caller), headers: { 'Set-Cookie': signedIn.cookie } }
    }),
    route(operations.readInvitation, async ({ body: { token }, address, request }) => {
      cookie.refuseOtherSites(request)
      if (formOf('qi', token) === 'mistyped') throw noLink()
      const attempt = signIn.guesses.begin(`link ${address()}`)
      const found = await findLink(sql, sha256(token))
      if (!found) throw noLink()
      attempt.giveBack()
      const { caller, endsAt } = found
      return { body: { ...accountShown(caller), endsAt: endsAt.toISOString() } }
    }),
    route(operations.createSignInLink, async ({ caller, by }) => {
      // A session must not live on in another one.
      if (caller.sessionId !== undefined)
        throw new QuickLinkError('forbidden', 'This needs the key itself, not a session.')
      const body = await sql.transaction(async (sql) => {
        const link = await makeLink(sql, caller, limits.signInLinkMinutes, caller)
        note(sql, by, { tenant: caller.tenant, kind: 'key', target: caller.id })
        return link
      })
      return { body }
    }),
  ]
}

const ofSessions = ({ sql, cookie }: RoutesDeps): Route[] => [
  route(operations.readSession, async ({ caller }) => {
    const row = (await listSessions(sql, caller)).find(({ id }) => id === caller.sessionId)
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
      items: (await listSessions(sql, caller)).map((row) => ({ ...shown(row), current: row.id === caller.sessionId })),
    },
  })),
  route(operations.endSessions, async ({ by }) => {
    await end(sql, by, null)
    return undefined
  }),
  route(operations.endSession, async ({ by, params: { id } }) => {
    if (await end(sql, by, id)) return undefined
    throw new QuickLinkError('not_found', `There is no session ${id} of this account.`)
  }),
]

/** See server/oidc/. */
const oidcStart = '/api/v1/sign-in/oidc'

const noKey = 'This key does not work: it is mistyped, or has ended.'

/** null: all of whoever asks. Whether there were some. */
const end = (sql: Postgres, by: By, id: string | null): Promise<boolean> =>
  sql.transaction(async (sql) => {
    const { id: whose, kind, tenant } = by.caller
    const gone = await deleteSessions(sql, by.caller, id)
    if (id === null) await deleteLinks(sql, by.caller)
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

const accountShown = ({ tenant, role, isOwner, kind, name }: Caller) => ({
  tenant,
  role,
  kind: isOwner ? ('owner' as const) : kind,
  name,
})

const present = (row: SessionRow, caller: Caller): SessionShown => ({
  ...shown(row),
  ...accountShown(caller),
  keyName: caller.kind === 'key' ? caller.name : null,
  memberId: caller.kind === 'member' ? caller.id : null,
})
