// A server whose certificate does not hold is not spoken to. What OpenSSL and Node say of it, as one sentence for a person.

/** Of whom it is told. */
export interface Server {
  readonly name: 'Postgres' | 'Redis'
  /** Of which host and port are told. */
  readonly url: string
  readonly setting: string
  /** What to do about a CA that is not known. */
  readonly ca: string
  /** What to do about another name; undefined: the setting has it. */
  readonly host?: string | undefined
}

/** Nobody could be asked: it may be another one tomorrow, or its certificate may be exchanged. */
export class Unverified extends Error {
  override readonly name = 'Unverified'
}

const unknownCa =
  /^(UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT(_LOCALLY)?)|(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT)|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED)$/
const outOfTime = /^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/

/** Whatever else it is stays as it is. */
export function inPlainWords(error: unknown, { name, url, setting, ca, host: named }: Server): unknown {
  if (!(error instanceof Error)) return error
  const { code = '' } = error as NodeJS.ErrnoException
  const told = (what: string): Unverified => new Unverified(what, { cause: error })
  const { hostname, host } = new URL(url)
  if (unknownCa.test(code)) {
    return told(`The certificate of ${name} at ${host} is not signed by a CA that is trusted here (${code}): ${ca}.`)
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return told(
      `The certificate of ${name} at ${host} is not for ${hostname}: ${named ?? `${setting} has to use a name that is in it`}.`,
    )
  }
  if (outOfTime.test(code)) return told(`The certificate of ${name} at ${host} is out of its time (${code}): renew it.`)
  if (noTls.test(error.message) || code.startsWith('ERR_SSL_') || code === 'EPROTO') {
    return told(`${name} at ${host} does not speak TLS as ${setting} asks for: set it up there, or ask for none.`)
  }
  return error
}

/** What pg says. */
const noTls = /^(The server does not support SSL connections|There was an error establishing an SSL connection)$/
