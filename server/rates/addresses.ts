// Addresses, and lists of them in settings.
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'
import { z } from 'zod'

export type Matches = (address: string) => boolean

/** Without brackets, port and zone (`[fe80::1%eth0]:443`, `192.0.2.1:443`), and IPv4 as such on a dual-stack listener. */
export function plainAddress(said: string): string {
  const inBrackets = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(said)?.[1]
  const beforePort = /^([\d.]+):\d{1,5}$/.exec(said)?.[1]
  const bare = (inBrackets ?? beforePort ?? said).split('%', 1)[0] ?? ''
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1]
  return mapped !== undefined && isIPv4(mapped) ? mapped : bare
}

const form = 'must be a list like loopback,192.0.2.7,10.0.0.0/8,2001:db8::/32'

/** `loopback`, addresses and networks, separated by commas. */
export const addressesSchema = z.string().transform((list, context): Matches => {
  return parseAddresses(list) ?? refuse(context, form)
})

function parseAddresses(list: string): Matches | undefined {
  const block = new BlockList()
  for (const item of list.split(',').map((part) => part.trim())) if (!add(block, item)) return undefined
  return (address) => isIP(address) !== 0 && block.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

function add(block: BlockList, item: string): boolean {
  if (item === 'loopback') return add(block, '127.0.0.0/8') && add(block, '::1')
  const [network = '', prefix, ...more] = item.split('/')
  const family = isIP(network)
  if (family === 0 || more.length > 0) return false
  const type = family === 6 ? 'ipv6' : 'ipv4'
  const bits = prefix === undefined ? (family === 6 ? 128 : 32) : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN
  if (!(bits <= (family === 6 ? 128 : 32))) return false
  block.addSubnet(network, bits, type)
  return true
}

/** Of the hops in front of us, nearest first: is the n-th one's word on who came to it to be believed? */
export type TrustedHop = (address: string, n: number) => boolean

export const trustProxySchema = z.string().transform((text, context): TrustedHop => {
  if (text === 'off') return () => false
  if (/^\d{1,2}$/.test(text)) {
    const hops = Number(text)
    return (_address, n) => n < hops
  }
  return parseAddresses(text) ?? refuse(context, `must be off, a number of hops, or ${form.slice('must be '.length)}`)
})

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

/** Whoever has one IPv6 address has its /64. */
export function subscriberOf(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - after.length
  const whole = [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...after]
  return whole
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')
}

/**
 * What connections of an address are counted under. Undefined: not at all, because behind a proxy, or an address that is
 * never held to anything, there may be everybody.
 */
export const connectionsCountedAs =
  ({ trustProxy, scanAllowlist }: { trustProxy: TrustedHop; scanAllowlist: Matches }) =>
  (peer: string | undefined): string | undefined => {
    const address = plainAddress(peer ?? '')
    return trustProxy(address, 0) || scanAllowlist(address) ? undefined : subscriberOf(address)
  }
