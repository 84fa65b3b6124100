// What a link may lead to. Stored is what the WHATWG URL serialises: ASCII without white space or control characters, so
// that it can stand in a Location header as it is.
import { limits } from '../config.ts'
import { invalid } from '../errors.ts'

// The URL parser drops tabs and newlines without a word, and trims: what somebody smuggles in must be refused before.
// eslint-disable-next-line no-control-regex
const unprintable = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/

/** `ownHosts`: QuickLink's own, as host or host:port. A link to ourselves would run in circles. */
export function parseDestination(text: string, ownHosts: readonly string[]): string {
  const refuse = (what: string): never => {
    throw invalid('url', `url ${what}.`)
  }
  if (text.length > limits.urlLength) refuse(`must have at most ${limits.urlLength} characters`)
  if (unprintable.test(text)) refuse('must not contain control characters or line breaks')
  if (text !== text.trim()) refuse('must not begin or end with a space')
  if (!text.isWellFormed()) refuse('must be valid Unicode')
  if (!/^https?:\/\//i.test(text)) refuse('must begin with http:// or https://')
  if (!URL.canParse(text)) refuse('must be a complete URL with a valid host')
  const url = new URL(text)
  if (url.username !== '' || url.password !== '') refuse('must not contain a user name or a password')
  if (ownHosts.some((host) => sameHost(host, url))) refuse("must not lead to QuickLink's own host")
  if (url.href.length > limits.urlLength) refuse(`must have at most ${limits.urlLength} characters once it is encoded`)
  // The serialiser sees to it; a header is no place to rely on that.
  if (!/^[\x21-\x7e]+$/.test(url.href)) refuse('must be encodable as ASCII')
  return url.href
}

function sameHost(own: string, url: URL): boolean {
  const ours = `${url.protocol}//${own}`
  return URL.canParse(ours) && hostKey(new URL(ours)) === hostKey(url)
}

const loopback = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\])$/

function hostKey(url: URL): string {
  const name = url.hostname.replace(/\.+$/, '')
  return `${loopback.test(name) ? 'localhost' : name}:${url.port}`
}
