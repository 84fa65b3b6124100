// What people call a link, and what it is known by: a code and perhaps a domain outside, one text inside.
import { QuickLinkError } from '../errors.ts'
import { codeAt, domainOf, slugOf, type Code } from '../link.ts'
import { domainHost, hostSaid } from './host.ts'
import type { KnownDomains } from './known.ts'

export type Names = ReturnType<typeof createNames>

/** `publicUrl`: what short URLs of the default domain begin with, without a slash at the end. */
export function createNames(publicUrl: string, known: Pick<KnownDomains, 'has' | 'domains'>) {
  const { protocol, host: mainHost, port } = new URL(publicUrl)
  const mainName = hostSaid(mainHost)
  const baseOf = (host: string): string => `${protocol}//${host}${port === '' ? '' : `:${port}`}`

  /** The host of a further domain; null: the default domain. Throws where there is no such domain. */
  const hostOf = (domain: string | undefined): string | null => {
    if (domain === undefined) return null
    const host = domainHost(domain) ?? hostSaid(domain)
    if (host === mainName) return null
    if (known.has(host)) return host
    throw new QuickLinkError('not_found', `There is no domain ${domain}.`, { members: { field: 'domain' } })
  }
  return {
    hostOf,
    /** What short URLs of a further domain begin with: as those of the default one, at the same port. */
    baseOf,
    /** Of the link with this code at this domain. */
    codeAt: (slug: Code, domain: string | undefined): Code => codeAt(hostOf(domain), slug),
    /** As an answer has it. */
    shown(code: Code): { code: string; domain: string | null; shortUrl: string } {
      const domain = domainOf(code)
      const slug = slugOf(code)
      const base = domain === null ? publicUrl : baseOf(domain)
      return { code: slug, domain, shortUrl: `${base}/${slug}` }
    },
    /** Where the API has it. */
    pathOf(code: Code): string {
      const domain = domainOf(code)
      return `/api/v1/links/${slugOf(code)}${domain === null ? '' : `?domain=${domain}`}`
    },
    /** Ours, with the default one first: no link leads there. */
    hosts: (): string[] => [mainHost, ...known.domains.filter(({ isRemoved }) => !isRemoved).map(({ host }) => host)],
  }
}
