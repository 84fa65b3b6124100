// What a link may lead to. Stored is what the WHATWG URL serialises: ASCII without white space or control characters, so
// that it can stand in a Location header as it is.
import { limits } from '../config.ts'
import { invalid } from '../errors.ts'
import { isOwnHost } from './own-hosts.ts'

// The URL parser drops tabs and newlines without a word, and trims: what somebody smuggles in must be refused before.
// eslint-disable-next-line no-control-regex
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** With the slashes before it: to the parser any number of them is two. */
const authority = /^https?:[/\\]+[^/\\?#]*/i
const hostForm = `must have a host of at most ${limits.hostLength} characters`

/** `ownHosts`: QuickLink's own, as host or host:port. */
export function parseDestination(text: string, ownHosts: readonly string[]): string {
  const refuse = (what: string): never => {
    throw invalid('url', `url ${what}.`)
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
