// Whose links a request's host means: the default domain's, a further domain's, or nobody's. Where there is no further domain,
// nobody looks at a host.
import type { IncomingMessage } from 'node:http'
import type { Domain } from '../domains/known.ts'
import { hostSaid } from '../domains/host.ts'
import { customCodeLength } from '../link.ts'
import { plainAddress, type TrustedHop } from '../rates/addresses.ts'
import { cannotSay, leadingTo, notFound, smallPages, textPage, type Page } from './pages.ts'

/** What answers on a host beside its links. */
export type Beside = 'api' | 'console'

export interface Site {
  /** What stands before its codes. */
  readonly prefix: string
  /** The same, with room for the longest code behind it; undefined: there is no link, or nothing stands before it. */
  readonly key: Buffer | undefined
  /** What all its codes are answered; undefined: what becomes of each is looked up. */
  readonly always: Page | undefined
  /** Whose a path is that is no code's: node:http has it. */
  readonly besides: (path: string) => Beside | undefined
  /** Paths that are no code's. */
  readonly small: ReadonlyMap<string, Page>
  /** Where there is no link. */
  readonly notFound: Page
}

/** Before a code it makes one that no link can have. */
const noPrefix = '/'

export class Sites {
  readonly main: Site
  /** Until it is known which domains there are: what is not the default domain's for sure waits. */
  readonly #unsure: Site
  readonly #trusts: TrustedHop
  readonly #mainHost: string
  #byHost = new Map<string, Site>()
  #others: Site
  /** Of those who name a host, some may mean a further domain. */
  areMany = true
  /** Counts what was learnt: whose a host is holds as long as this stays. */
  asOf = 0
  #proofOf: ((host: string) => string) | undefined
  #domains: readonly Domain[] = []

  constructor(publicUrl: string, rootUrl: string | undefined, trusts: TrustedHop, hasConsole = false) {
    const besides = besidesOf(hasConsole, hasConsole && rootUrl === undefined)
    this.main = { prefix: '', key: undefined, always: undefined, besides, small: smallPages(rootUrl), notFound }
    this.#unsure = { ...this.main, prefix: noPrefix, always: cannotSay }
    this.#trusts = trusts
    this.#mainHost = hostSaid(new URL(publicUrl).host)
    this.#others = this.#unsure
    this.#byHost.set(this.#mainHost, this.main)
  }

  readonly learn = (domains: readonly Domain[]): void => {
    this.#domains = domains
    this.#byHost = new Map(domains.map((domain) => [domain.host, siteOf(domain, this.#proofOf)]))
    // Whatever it was before: what short URLs begin with are the default domain's.
    this.#byHost.set(this.#mainHost, this.main)
    this.#others = this.main
    this.areMany = this.#byHost.size > 1
    this.asOf++
  }

  /** From now on each domain says what nobody but this installation knows of it, so that `make doctor` sees who answers there. */
  identify(proofOf: (host: string) => string): void {
    this.#proofOf = proofOf
    if (this.#others === this.main) this.learn(this.#domains)
  }

  /** What each domain says. */
  proofs(): Record<string, string> {
    const proofOf = this.#proofOf
    const inUse = proofOf ? this.#domains.filter(({ isRemoved }) => !isRemoved) : []
    return Object.fromEntries(inUse.map(({ host }) => [host, proofOf!(host)]))
  }

  /** Of what a Host field, or an absolute form, names. */
  of(said: string): Site {
    return this.#byHost.get(said) ?? this.#byHost.get(hostSaid(said)) ?? this.#others
  }

  /** Whether what this connection says of another host is believed. */
  believes(peer: string | undefined): boolean {
    return this.#trusts(plainAddress(peer ?? ''), 0)
  }

  ofRequest(req: IncomingMessage, authority: string | undefined): Site {
    return this.areMany ? this.of(this.#saidIn(req, authority)) : this.main
  }

  /** It names the host of PUBLIC_URL, and not only none of the further domains'. */
  isPublicUrl(req: IncomingMessage, authority: string | undefined): boolean {
    return hostSaid(this.#saidIn(req, authority)) === this.#mainHost
  }

  #saidIn(req: IncomingMessage, authority: string | undefined): string {
    const forwarded = req.headers['x-forwarded-host']
    const said = forwarded !== undefined && this.believes(req.socket.remoteAddress) ? firstOf(forwarded.toString()) : ''
    return said || (authority ?? req.headers.host ?? '')
  }
}

const isBelow = (name: string, path: string): boolean =>
  path.startsWith(name) && (path.length === name.length || path[name.length] === '/')

/** Of paths without their slash. The API and the console have all of theirs, and no code is among them. */
const besidesOf =
  (hasConsole: boolean, hasRoot: boolean): Site['besides'] =>
  (path) => {
    if (isBelow('api', path)) return 'api'
    return hasConsole && (isBelow('console', path) || (hasRoot && path === '')) ? 'console' : undefined
  }

const nothing: Site['besides'] = () => undefined

/** Where tier 1 has it, if at all: a path of the default domain that looks like a further domain's code is none of its links. */
export const heldAs = ({ prefix }: Site, path: string): string =>
  prefix !== '' ? prefix + path : path.includes('/') ? noPrefix : path

/** What the visitor asked the outermost proxy for; those behind it may have added their own. */
export const firstOf = (forwardedHost: string): string => (forwardedHost.split(',', 1)[0] ?? '').trim()

/** Below /.well-known, as RFC 8615 has it. */
export const proofPath = '.well-known/quicklink'

function siteOf({ host, rootUrl, notFoundUrl, isRemoved }: Domain, proofOf?: (host: string) => string): Site {
  if (isRemoved) {
    return { prefix: noPrefix, key: undefined, always: notFound, besides: nothing, small: new Map(), notFound }
  }
  const small = new Map(smallPages(rootUrl ?? undefined))
  if (proofOf) small.set(proofPath, textPage(proofOf(host)))
  const prefix = `${host}/`
  return {
    prefix,
    key: Buffer.from(prefix.padEnd(prefix.length + customCodeLength.max), 'latin1'),
    always: undefined,
    besides: nothing,
    small,
    notFound: notFoundUrl === null ? notFound : leadingTo(notFoundUrl),
  }
}
