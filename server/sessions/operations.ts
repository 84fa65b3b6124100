// What the API offers about sessions: how a browser signs in by a key, and out.
import { z } from 'zod'
import { allOf, idOf, linkOnceShown, mustBe, tenantShown, timeShown } from '../api/fields.ts'
import { operationsOf, roles } from '../api/operation.ts'
import { doers } from '../audit/store.ts'
import { limits } from '../limits.ts'

const operation = operationsOf('Sessions')

const token = z
  .string(mustBe('text'))
  .max(limits.tokenLength, `must have at most ${limits.tokenLength} characters`)
  .meta({ description: 'Of a link that signs in once: what follows `#token=`.' })

const newSession = z
  .strictObject(
    {
      key: z
        .string(mustBe('text'))
        .max(limits.keyLength, `must have at most ${limits.keyLength} characters`)
        .optional()
        .meta({ description: 'A key of a tenant, or of the owner.' }),
      token: token.optional(),
    },
    mustBe('a JSON object'),
  )
  .refine(({ key, token }) => (key === undefined) !== (token === undefined), {
    message: 'is missing: give a key or a token',
    path: ['key'],
  })
  .meta({ id: 'NewSession', minProperties: 1, maxProperties: 1 })

const times = {
  id: z.string().meta({ description: 'It is no secret.', examples: ['session_5Kd2vXgWm1Qz'] }),
  createdAt: timeShown,
  usedAt: timeShown.meta({ description: 'Its last request, up to a minute ago.' }),
  endsAt: timeShown.meta({ description: 'When it ends if it is not used again.' }),
}
const account = {
  tenant: tenantShown,
  role: z.enum(roles),
  kind: z.enum(doers).meta({ description: 'Whom it has come from.' }),
  name: z.string().meta({ description: 'Of the key or the member; what links that it makes show as `createdBy`.' }),
}
const session = z
  .object({ ...times, ...account, keyName: z.string().nullable(), memberId: z.string().nullable() })
  .meta({ id: 'Session' })
const listed = z.object({ ...times, current: z.boolean().meta({ description: 'It asks for this list.' }) })
export type SessionShown = z.input<typeof session>

export const readSignIn = operation('readSignIn', 'get', '/sign-in', 'nothing', {
  summary: 'How one can sign in',
  answer: {
    status: 200,
    what: 'The ways.',
    schema: z
      .object({
        key: z.literal(true).meta({ description: 'By `POST /session`.' }),
        oidc: z
          .object({ issuer: z.string(), start: z.string() })
          .nullable()
          .meta({
            description:
              'By an identity provider: a browser is led to `start`, with `returnTo`, a path under `/console` where it ends; null: not here.',
            examples: [{ issuer: 'https://id.example.org', start: '/api/v1/sign-in/oidc' }],
          }),
        safe: z.boolean().meta({ description: 'Whether a browser may: not by plain http, but on this very machine.' }),
      })
      .meta({ id: 'SignInWays' }),
  },
})

export const signIn = operation('signIn', 'post', '/session', 'nothing', {
  summary: 'Sign in',
  about:
    'A browser exchanges a key, or the token of a link that signs in once, for a cookie that no script can read, and may then do what the key or ' +
    `the member may. It lives ${limits.sessionIdleHours} hours after its last use, ${limits.sessionDays} days at most, and ends with its key or member. Writes by the ` +
    'cookie must come from a page of `PUBLIC_URL`. Needs https, or a `PUBLIC_URL` on this very machine.',
  body: { schema: newSession, example: { key: 'ql_…' } },
  answer: { status: 201, what: 'The session; its cookie is set.', schema: session, headers: ['Set-Cookie'] },
  problems: ['unauthorized', 'forbidden'],
})

export const readInvitation = operation('readInvitation', 'post', '/invitation', 'nothing', {
  summary: 'Whom a link signs in',
  about: 'It is good for a sign-in afterwards, too. A POST, so that the token stands in no address and no log.',
  body: {
    schema: z.strictObject({ token }, mustBe('a JSON object')).meta({ id: 'InvitationAsked' }),
    example: { token: 'qi_…' },
  },
  answer: {
    status: 200,
    what: 'The account.',
    schema: z.object({ ...account, endsAt: timeShown }).meta({ id: 'Invitation' }),
  },
  problems: ['unauthorized', 'forbidden'],
})

export const createSignInLink = operation('createSignInLink', 'post', '/sign-in-links', 'owner', {
  summary: 'Make a link that signs you in once',
  about: `For a browser on another machine, or for whoever has a terminal. Good for ${limits.signInLinkMinutes} minutes; the one before is void.`,
  answer: { status: 201, what: 'The link, this once.', schema: linkOnceShown },
})

export const readSession = operation('readSession', 'get', '/session', 'viewer', {
  summary: 'Who is signed in',
  answer: { status: 200, what: 'The session that asks.', schema: session },
  problems: ['not_found'],
})

export const signOut = operation('signOut', 'delete', '/session', 'viewer', {
  summary: 'Sign out',
  about: 'Within a second its cookie is refused everywhere, wherever it has been copied to.',
  answer: { status: 204, what: 'It has ended.', headers: ['Set-Cookie'] },
  problems: ['not_found', 'forbidden'],
})

export const listSessions = operation('listSessions', 'get', '/sessions', 'viewer', {
  summary: 'List the sessions of an account',
  about: 'Of the key or the member that asks. The newest first.',
  answer: {
    status: 200,
    what: 'Those that live.',
    schema: allOf(listed, 'Sessions'),
  },
})

export const endSessions = operation('endSessions', 'delete', '/sessions', 'viewer', {
  summary: 'End all sessions of an account',
  about: 'This one among them, and a link that would begin another one. A key goes on.',
  answer: { status: 204, what: 'They have ended.' },
  problems: ['forbidden'],
})

export const endSession = operation('endSession', 'delete', '/sessions/{id}', 'viewer', {
  summary: 'End a session of an account',
  params: z.object({
    id: idOf('session', { description: 'The id of a session.', examples: ['session_5Kd2vXgWm1Qz'] }),
  }),
  answer: { status: 204, what: 'It has ended.' },
  problems: ['forbidden'],
})
