// Who is let in, as the settings say it.
import { expect, test } from 'vitest'
import { loadConfig } from '../config.ts'
import { groupPlacesSchema, groupsIn, placeOf } from './roles.ts'
import { localPath } from './pages.ts'

const complete = {
  DATABASE_URL: 'postgres://db/quicklink',
  OIDC_ISSUER: 'https://id.example.org/realms/team',
  OIDC_CLIENT_ID: 'quicklink',
  OIDC_CLIENT_SECRET: 'short',
  OIDC_ROLES: 'staff=acme:editor',
}
const refusal = (env: Record<string, string>): string => {
  try {
    loadConfig({ ...complete, ...env })
    return 'taken'
  } catch (error) {
    return (error as Error).message
  }
}

test('the first entry that fits decides, whatever the order of the groups', () => {
  const places = groupPlacesSchema.parse('/team/a=b=owner:owner, two words=acme:admin,staff=acme:editor')
  expect(placeOf(places, ['staff', 'two words'])).toMatchObject({ tenant: 'acme', role: 'admin' })
  expect(placeOf(places, ['/team/a=b', 'staff'])).toMatchObject({ tenant: 'owner', role: 'owner' })
  for (const groups of [[], ['Staff'], ['staff '], ['acme:editor'], ['constructor']])
    expect(placeOf(places, groups)).toBeUndefined()
})

test.each([undefined, null, 7, { staff: true }, [['staff']], [{ name: 'staff' }]])('%j has no group', (claim) =>
  expect(groupsIn(claim)).toEqual([]),
)

test.each(['', 'staff', 'staff=acme', 'staff=acme:boss', '=acme:editor', 'staff=acme:editor,', 'staff=ac me:editor', 'staff=acme:owner'])('OIDC_ROLES=%j is refused', (text) => {
  expect(groupPlacesSchema.safeParse(text).success).toBe(false)
}) // prettier-ignore

test.each([
  [{}, 'taken'],
  [{ OIDC_ISSUER: 'http://127.0.0.1:9000' }, 'taken'],
  [{ OIDC_ISSUER: 'http://id.example.org' }, 'OIDC_ISSUER must be a URL that begins with https://'],
  [{ OIDC_ISSUER: 'https://id.example.org/?a' }, 'OIDC_ISSUER must be a URL that begins with https://'],
  [{ OIDC_ISSUER: '' }, 'OIDC_ISSUER is missing'],
  [{ OIDC_CLIENT_ID: '' }, 'OIDC_CLIENT_ID is missing'],
  [{ OIDC_CLIENT_SECRET: '' }, 'OIDC_CLIENT_SECRET is missing'],
  [{ OIDC_ROLES: '' }, 'OIDC_ROLES is missing'],
  [{ OIDC_GROUPS_CLAIM: 'email' }, 'OIDC_GROUPS_CLAIM must be a claim that nobody chooses for himself'],
  [{ OIDC_SCOPES: 'profile' }, 'OIDC_SCOPES must begin with openid'],
])('%j: %s', (env, words) => expect(refusal(env)).toContain(words))

test.each([
  ['/console/links/spring?domain=go.example.com', '/console/links/spring?domain=go.example.com'],
  ['https://go.example.org/console/new', '/console/new'],
  ...['https://evil.example/console', '//evil.example/console', '/\\evil.example', '/\t/evil.example', '/spring', '/console/../spring', '/console/%2e%2e/spring', '/consoles', 'javascript:alert(1)', `/console/${'x'.repeat(2000)}`, undefined, ['/console/new']].map((given) => [given, '/console']), // prettier-ignore
])('returnTo=%j ends at %s', (given, end) => expect(localPath(given, 'https://go.example.org')).toBe(end))
