// The identity provider: what it is asked, and what is believed. Everything that the standard has to say of an answer is checked by
// openid-client, signatures included.
import * as client from 'openid-client'
import { limits } from '../limits.ts'

/** What a browser has taken along, and has to bring back. */
export interface Trip {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

export type Claims = Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string }

/** It does not answer, or not as it should: not the doing of who signs in. */
export class ProviderUnable extends Error {
  override readonly name = 'ProviderUnable'
}

interface Terms {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: string
  readonly groupsClaim: string
  /** Where it sends people back to. */
  readonly redirectUri: string
}

export type Provider = ReturnType<typeof openProvider>

export function openProvider(terms: Terms, nowMs: () => number = () => performance.now()) {
  const { issuer, clientId, clientSecret, scopes, groupsClaim, redirectUri } = terms
  const isPlain = new URL(issuer).protocol === 'http:'
  let known: { readonly server: client.ServerMetadata; readonly untilMs: number } | undefined
  let asking: Promise<client.ServerMetadata> | undefined

  const discover = async (): Promise<client.ServerMetadata> => {
    const found = await client.discovery(new URL(issuer), clientId, undefined, client.None(), {
      timeout: limits.oidcMs / 1000,
      [client.customFetch]: boundedFetch,
      execute: isPlain ? [allowPlain] : [],
    })
    const server = found.serverMetadata()
    known = { server, untilMs: nowMs() + limits.oidcMetadataHours * 3_600_000 }
    return server
  }
  /** When somebody wants to sign in, and anew for each as long as it fails; those who come meanwhile share the answer. */
  const serverNow = (): Promise<client.ServerMetadata> => {
    if (known !== undefined && nowMs() < known.untilMs) return Promise.resolve(known.server)
    return (asking ??= discover().finally(() => (asking = undefined)))
  }
  /** A new one for each: it keeps the provider's keys, and these may have changed. */
  const configured = async (): Promise<client.Configuration> => {
    const server = await serverNow().catch((error: unknown) => {
      throw new ProviderUnable('it could not be asked what it is', { cause: error })
    })
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const proof = methods.includes('client_secret_basic') ? client.ClientSecretBasic : client.ClientSecretPost
    const config = new client.Configuration(server, clientId, undefined, proof(clientSecret))
    config.timeout = limits.oidcMs / 1000
    config[client.customFetch] = boundedFetch
    if (isPlain) allowPlain(config)
    client.enableNonRepudiationChecks(config)
    return config
  }
  return {
    issuer,
    /** Where the browser is to go, with what. */
    async begin(): Promise<{ readonly url: URL; readonly trip: Trip }> {
      const trip = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      }
      const url = client.buildAuthorizationUrl(await configured(), {
        redirect_uri: redirectUri,
        scope: scopes,
        state: trip.state,
        nonce: trip.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(trip.verifier),
        code_challenge_method: 'S256',
      })
      return { url, trip }
    },
    /** Who has come back with this query. Throws where that cannot be believed. */
    async end(search: string, { state, nonce, verifier }: Trip): Promise<Claims> {
      const config = await configured()
      const tokens = await client.authorizationCodeGrant(config, new URL(redirectUri + search), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (claims === undefined) throw new ProviderUnable('it sent no ID token')
      // Some say groups only there.
      const isSaidThere = claims[groupsClaim] === undefined && config.serverMetadata().userinfo_endpoint !== undefined
      const more = isSaidThere ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : {}
      return { ...more, ...claims }
    },
  }
}

/** On this machine only: see `OIDC_ISSUER`. The library looks for this very function. */
// eslint-disable-next-line @typescript-eslint/no-deprecated -- so that it stands out
const allowPlain: (config: client.Configuration) => void = client.allowInsecureRequests

/** Another state, nonce or issuer, or an ID token that is too old. */
const foreign = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
])

export function isUnable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof ProviderUnable) return true
  return false
}

/** Whether the browser brought what is not to be believed, and not the provider that cannot. */
export function isForeign(error: unknown): boolean {
  if (isUnable(error)) return false
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof client.ResponseBodyError) return cause.error === 'invalid_grant'
    if (cause instanceof client.AuthorizationResponseError) return true
  }
  return error instanceof client.ClientError && foreign.has(error.code ?? '')
}

/** What the provider itself has said, instead of sending somebody who is signed in. */
export const refusalIn = (error: unknown): string | undefined =>
  error instanceof client.AuthorizationResponseError && /^[a-z_]{1,40}$/.test(error.error) ? error.error : undefined

/** For the log: neither tokens nor what they say. */
export const reasonOf = (error: unknown): string => {
  const parts: string[] = []
  for (let cause = error; cause instanceof Error && parts.length < 5; cause = cause.cause) {
    const code = (cause as { code?: unknown }).code
    parts.push(typeof code === 'string' ? `${cause.message} (${code})` : cause.message)
  }
  return parts.join(': ').slice(0, limits.loggedMessage)
}

const boundedFetch: client.CustomFetch = async (url, { method, headers, body: sent, signal = null }) => {
  // It sends forms only.
  const asked = { method, headers, body: sent instanceof URLSearchParams ? sent : null, signal }
  const response = await fetch(url, { ...asked, redirect: 'manual' }).catch((error: unknown) => {
    throw new ProviderUnable(`it does not answer at ${url}`, { cause: error })
  })
  if (response.status >= 500) throw new ProviderUnable(`it answers ${response.status} at ${url}`)
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length
    if (bytes > limits.oidcBytes)
      throw new ProviderUnable(`its answer at ${url} has more than ${limits.oidcBytes} bytes`)
    chunks.push(chunk as Uint8Array)
  }
  const body = bytes === 0 ? null : Buffer.concat(chunks)
  return new Response(body, { status: response.status, headers: response.headers })
}
