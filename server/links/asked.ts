// What a body says of a link, as it is written: where it leads may be led to, and its tenant's tier allows the rest.
import type { z } from 'zod'
import type { Caller } from '../api/operation.ts'
import type { Names } from '../domains/names.ts'
import { codeAt, type Code } from '../link.ts'
import type { Tier } from '../tenants/tiers.ts'
import type { LinkChange } from './change-link.ts'
import { parseDestination } from './destination.ts'
import { agreedHits, agreedTimes, parseCustomCode, type createSchema, type patchSchema } from './input.ts'
import { agreedLead, parseRules } from './special.ts'
import type { NewLink } from './store.ts'

export interface NewAsked {
  readonly link: NewLink
  /** undefined: one that is generated. */
  readonly code: Code | undefined
  readonly domain: string | null
  readonly password: string | undefined
}

export function newLinkOf(
  { names }: { readonly names: Names },
  { tenant, name }: Caller,
  terms: Tier,
  body: z.output<typeof createSchema>,
  ownHosts: readonly string[],
): NewAsked {
  const domain = names.hostOf(body.domain)
  const { url, permanent, rules } = agreedLead({
    url: parseDestination(body.url, ownHosts),
    permanent: body.permanent ?? false,
    rules: parseRules(body.rules, ownHosts),
    hasPassword: typeof body.password === 'string',
  })
  return {
    link: {
      tenant,
      url,
      special: { rules, passwordHash: undefined },
      permanent,
      enabled: body.enabled ?? true,
      ...agreedTimes(terms, body.startsAt ?? null, body.expiresAt ?? null),
      expiredUrl: destinationOrNone(body.expiredUrl, ownHosts) ?? null,
      forwardQuery: body.forwardQuery ?? false,
      monthlyHits: agreedHits(terms, body.monthlyHits ?? null),
      title: body.title ?? null,
      note: body.note ?? null,
      tags: body.tags ?? [],
      createdBy: name,
    },
    code: body.code === undefined ? undefined : codeAt(domain, parseCustomCode(body.code)),
    domain,
    password: body.password ?? undefined,
  }
}

export const changeOf = (body: z.output<typeof patchSchema>, ownHosts: readonly string[]): LinkChange => ({
  ...body,
  ...(body.url === undefined ? {} : { url: parseDestination(body.url, ownHosts) }),
  ...(body.rules === undefined ? {} : { rules: parseRules(body.rules, ownHosts) }),
  ...(body.expiredUrl === undefined ? {} : { expiredUrl: destinationOrNone(body.expiredUrl, ownHosts) }),
})

const destinationOrNone = (
  expiredUrl: string | null | undefined,
  ownHosts: readonly string[],
): string | null | undefined =>
  typeof expiredUrl === 'string' ? parseDestination(expiredUrl, ownHosts, 'expiredUrl') : expiredUrl
