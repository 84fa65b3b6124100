// A real identity provider (the certified oidc-provider) on a port of this machine, and a browser that goes there and back. Who signs
// in there is whom the browser says.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { ask, type Answer } from '../embedded/ask.ts'

export interface Person {
  readonly name?: string
  readonly groups?: unknown
  /** Where the provider says it. */
  readonly by?: 'id_token' | 'userinfo'
}

export async function startIdentityProvider(redirectUri: string) {
  const people = new Map<string, Person>()
  const clientSecret = randomBytes(24).toString('base64url')
  let answers: 'yes' | 'no' | 'with an error' = 'yes'
  let provider: Provider | undefined
  const server = createServer((request, response) => {
    if (answers === 'no' || provider === undefined) return void request.socket.destroy()
    if (answers === 'with an error') return void response.writeHead(500).end('out of order')
    if (!request.url?.startsWith('/interaction/')) return provider.callback()(request, response)
    const accountId = String(request.headers['x-person'])
    const result = accountId === 'nobody' ? { error: 'access_denied' } : { login: { accountId } }
    void provider.interactionFinished(request, response, result)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = { client_id: 'quicklink', client_secret: clientSecret, redirect_uris: [redirectUri] }
  const rotateKeys = (): void => void (provider = new Provider(issuer, configured(people, client)))
  rotateKeys()
  return {
    issuer,
    clientSecret,
    people,
    rotateKeys,
    answer: (how: typeof answers) => (answers = how),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

function configured(people: ReadonlyMap<string, Person>, client: object): object {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const kid = randomBytes(6).toString('hex')
  return {
    clients: [client],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['one of a test'] },
    claims: { openid: ['sub'], profile: ['name', 'groups'] },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
    conformIdTokenClaims: false,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims(use: 'id_token' | 'userinfo') {
        const { name, groups, by } = people.get(sub) ?? {}
        return { sub, ...(name === undefined ? {} : { name }), ...(by === use ? { groups } : {}) }
      },
    }),
    async loadExistingGrant({ oidc }: { oidc: { provider: Provider; client: { clientId: string }; session: { accountId: string } } }) {
      const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid profile')
      await grant.save()
      return grant
    },
  } // prettier-ignore
}

/** It follows no redirect by itself, keeps cookies by host, and asks `at` for what is at `publicUrl`. */
export function browser(publicUrl: string, at: string, person: string) {
  const kept = new Map<string, Map<string, string>>()
  const go = async (url: string): Promise<Answer> => {
    const { origin, pathname, search } = new URL(url)
    const jar = kept.get(origin) ?? new Map<string, string>()
    kept.set(origin, jar)
    const answer = await ask(origin === publicUrl ? at : origin, pathname + search, {
      headers: {
        Host: new URL(url).host,
        Accept: 'text/html',
        Cookie: Array.from(jar, (pair) => pair.join('=')).join('; '),
        'X-Person': person,
      },
    })
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '' || line.includes('Max-Age=0')) jar.delete(name)
      else jar.set(name, value)
    }
    return answer
  }
  return {
    go,
    cookies: () => Array.from(kept.get(publicUrl) ?? [], (pair) => pair.join('=')).join('; '),
    /** From a start to the address that the provider sends one back to. */
    async throughProvider(start: string): Promise<string> {
      let url = start
      for (let n = 0; n < 10 && !url.startsWith(publicUrl); n++) {
        const { status, headers, text } = await go(url)
        if (headers.location === undefined) throw new Error(`the provider answers ${status}: ${text}`)
        url = new URL(headers.location, url).href
      }
      return url
    },
  }
}
