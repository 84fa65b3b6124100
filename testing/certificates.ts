// A certification authority of a test's own, and servers' certificates by it, for an hour. By openssl, which comes with the certificates of a system.
import { execFileSync } from 'node:child_process'
import { chownSync, chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { postgresUser } from '../embedded/postgres-binaries.ts'

const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'ignore' })
const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

export function makeCa(dir: string, name: string) {
  const [ca, caKey] = [join(dir, `${name}.pem`), join(dir, `${name}.key`)]
  openssl('req', '-x509', ...key, '-keyout', caKey, '-out', ca, '-days', '2', '-subj', `/CN=${name}`)
  return {
    file: ca,
    /** For a server of this name, readable by Postgres' user. */
    sign(host: string): { readonly cert: string; readonly key: string } {
      const [cert, ownKey, request] = ['pem', 'key', 'csr'].map((kind) => join(dir, `${name}-${host}.${kind}`)) as [
        string,
        string,
        string,
      ]
      const extensions = join(dir, `${host}.ext`)
      writeFileSync(extensions, `subjectAltName=DNS:${host}\n`)
      openssl('req', '-new', ...key, '-keyout', ownKey, '-out', request, '-subj', `/CN=${host}`)
      const by = ['-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-extfile', extensions]
      openssl('x509', '-req', '-in', request, '-out', cert, '-days', '1', ...by)
      const user = postgresUser()
      for (const file of [cert, ownKey]) {
        chmodSync(file, 0o600)
        if (user) chownSync(file, user.uid, user.gid)
      }
      return { cert, key: ownKey }
    },
  }
}
