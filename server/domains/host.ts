// One spelling per host: what a request names, and what the owner gives a domain.
import { isIP } from 'node:net'
import { limits } from '../limits.ts'
import { isHostName } from '../link.ts'

/** With a dot at the end, a colon and a port. */
const longestSaid = limits.hostLength + 7

/** What a Host field names: in lower case, without port or final dot. Of what cannot be one of our domains, anything else. */
export function hostSaid(said: string): string {
  if (said.length > longestSaid) return ''
  const colon = said.indexOf(':')
  let end = colon === -1 ? said.length : colon
  if (said[end - 1] === '.') end--
  return said.slice(0, end).toLowerCase()
}

/** What a person calls a domain, as a Host field will say it: `Bücher.example.` is `xn--bcher-kva.example`. Undefined: no name. */
export function domainHost(text: string): string | undefined {
  if (text.length > limits.hostWritten || /[\s/\\?#@:%[\]]/.test(text) || !URL.canParse(`http://${text}`))
    return undefined
  const { hostname } = new URL(`http://${text}`)
  const host = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname
  const isName = host.includes('.') && isHostName(host) && isIP(host) === 0
  return isName && host.split('.').every((label) => label.length > 0 && label.length <= 63) ? host : undefined
}
