// What a link may lead to. Stored is what the WHATWG URL serialises: ASCII without white space or control characters, so
// that it can stand in a Location header as it is.
import { isIPv4 } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { limits } from '../limits.ts'
import { invalid } from '../errors.ts'

// The URL parser drops tabs and newlines without a word, and trims: what somebody smuggles in must be refused before.
// eslint-disable-next-line no-control-regex
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** With the slashes before it: to the parser any number of them is two. */
const authority = /^https?:[/\\]+[^/\\?#]*/i
const hostForm = `must have a host of at most ${limits.hostLength} characters`

/** `ownHosts`: QuickLink's own, as host or host:port. `field`: which of a request it is. */
export function parseDestination(text: string, ownHosts: readonly string[], field = 'url'): string {
  const refuse = (what: string): never => {
    throw invalid(field, `${field} ${what}.`)
  }
  if (text.length > limits.urlLength) refuse(`must have at most ${limits.urlLength} characters`)
  if (unprintable.test(text)) refuse('must not contain control characters or line breaks')
  if (text !== text.trim()) refuse('must not begin or end with a space')
  if (!text.isWellFormed()) refuse('must be valid Unicode')
  if (!/^https?:\/\//i.test(text)) refuse('must begin with http:// or https://')
  // Before the parser: long hosts are dear to it, and to everybody who reads them.
  if (authority.exec(text)![0].length > limits.hostWritten) refuse(hostForm)
  if (!URL.canParse(text)) refuse('must be a complete URL with a valid host')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') refuse('must not contain a user name or a password')
  if (url.hostname.length > limits.hostLength) refuse(hostForm)
  if (isOwnHost(url.hostname, ownHosts)) refuse("must not lead to QuickLink's own host, whatever the port")
  if (url.href.length > limits.urlLength) refuse(`must have at most ${limits.urlLength} characters once it is encoded`)
  // The serialiser sees to it; a header is no place to rely on that.
  if (!/^[\x21-\x7e]+$/.test(url.href)) refuse('must be encodable as ASCII')
  return url.href
}

// Does a host name this machine? A link to QuickLink's own host would run in circles, and one host has many spellings. What
// the WHATWG parser makes one (case, IDNA, percent-encoding, numbers) comes here as its `hostname`.
//
// The port does not count: what answers at another port of this host may well be a proxy in front of this one.

/** As in /etc/hosts of the usual systems. */
const loopbackNames: ReadonlySet<string> = new Set([
  'localhost', 'localhost.localdomain', 'localhost4', 'localhost4.localdomain4', 'localhost6',
  'localhost6.localdomain6', 'ip6-localhost', 'ip6-loopback',
]) // prettier-ignore

/** Asked once: the system takes longer to say it than all the rest of this file takes. */
const ownName = hostname()

/** `own`: what we are known by, as host or host:port. */
function isOwnHost(urlHostname: string, own: readonly string[]): boolean {
  const host = spelling(urlHostname)
  const isAddress = host.startsWith('[') || isIPv4(host)
  if (loopbackNames.has(host) || host.endsWith('.localhost') || (isAddress && isLoopback(host))) return true
  return [...own, ownName, ...(isAddress ? addresses() : [])].some((name) => spellingOf(name) === host)
}

/** 127.0.0.0/8 and 0.0.0.0/8, which every system takes for itself; `::` and `::1` are of the latter when they come here. */
const isLoopback = (host: string): boolean => /^(?:127|0)\./.test(host)

/** Of this machine, as they are now. */
const addresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((bound) => bound ?? [])
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address))

/** The `Host` header is among what comes here, so its length counts first. */
function spellingOf(host: string): string | undefined {
  const url = `http://${host}`
  return host.length <= limits.hostWritten && URL.canParse(url) ? spelling(new URL(url).hostname) : undefined
}

/** One spelling per host: no dot at the end, and an IPv4 address as such where an IPv6 address carries it. */
function spelling(urlHostname: string): string {
  let end = urlHostname.length
  while (urlHostname[end - 1] === '.') end--
  const host = urlHostname.slice(0, end)
  return host.startsWith('[') ? carriedIPv4(host) : host
}

/** What stands before the last 32 bits: IPv4-compatible, -mapped, -translated, and the prefix of NAT64. */
const carriers: ReadonlySet<string> = new Set(['0:0:0:0:0:0', '0:0:0:0:0:ffff', '0:0:0:0:ffff:0', '64:ff9b:0:0:0:0'])

function carriedIPv4(host: string): string {
  const [head = '', tail] = host.slice(1, -1).split('::')
  const before = groups(head)
  const after = groups(tail ?? '')
  const all = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
  if (!carriers.has(all.slice(0, 6).join(':'))) return host
  const [high = 0, low = 0] = all.slice(6).map((group) => parseInt(group, 16))
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
