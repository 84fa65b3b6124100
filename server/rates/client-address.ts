// Who is asking: the address of the connection, or what the proxies in front say, as far as they are trusted.
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import proxyAddr from 'proxy-addr'
import { limits } from '../limits.ts'
import { plainAddress, subscriberOf, type Matches, type TrustedHop } from './addresses.ts'

/** From the connection outwards, for as long as the one who says so is trusted and says an address. */
export function clientAddress(peer: string | undefined, forwardedFor: string | undefined, trusts: TrustedHop): string {
  const request = {
    socket: { remoteAddress: peer ?? '' },
    headers: { 'x-forwarded-for': nearest(forwardedFor ?? '') },
  } as unknown as IncomingMessage
  const hops = proxyAddr.all(request, (hop, n) => trusts(plainAddress(hop), n)).map(plainAddress)
  const end = hops.findIndex((hop) => isIP(hop) === 0)
  return hops.slice(0, end === -1 ? undefined : end).at(-1) ?? ''
}

const nearby = proxyAddr.compile(['loopback', 'linklocal', 'uniquelocal'])
/** Where our own proxies are, and no stranger from the internet. */
export const isPrivate: Matches = (address) => isIP(address) !== 0 && nearby(address, 0)

/** The nearest hop says last. What lies before that is the sender's, and as long as it likes. */
function nearest(forwardedFor: string): string {
  if (forwardedFor.length <= limits.forwardedFor) return forwardedFor
  const end = forwardedFor.slice(-limits.forwardedFor)
  return end.slice(end.indexOf(',') + 1)
}

/** Where a request comes from. */
export const wholeAddress = (request: IncomingMessage, trusts: TrustedHop): string =>
  clientAddress(request.socket.remoteAddress, request.headers['x-forwarded-for']?.toString(), trusts)

/** Who asks, as far as addresses tell: what tries of keys are counted by. */
export const askersAddress = (request: IncomingMessage, trusts: TrustedHop): string =>
  subscriberOf(wholeAddress(request, trusts))
