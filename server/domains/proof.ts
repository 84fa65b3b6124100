// What only this installation can say of a host: whoever asks there, and hears it, has come here.
import { createHmac, hkdfSync } from 'node:crypto'

/** `secret`: of the shortcodes, which every server of an installation has. What is said of one host tells nothing of another. */
export function proofsBy(secret: string): (host: string) => string {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'quicklink: who answers at a domain', 32))
  return (host) => createHmac('sha256', key).update(host).digest('base64url').slice(0, 32)
}
