// OIDC_ROLES: which group of the identity provider is which role in which tenant. Whose groups are not in it is not let in.
import { z } from 'zod'
import { roles, type Role } from '../api/operation.ts'

/** Where somebody belongs. */
export interface Place {
  readonly tenant: string
  readonly role: Role
}

export type GroupPlaces = readonly (Place & { readonly group: string })[]

/** The last `=` ends the group: a group's name may have some. */
const entry = /^(?<group>[^,]{1,256})=(?<tenant>[0-9A-Za-z][0-9A-Za-z._-]{0,63}):(?<role>[a-z]{1,10})$/

export const groupPlacesSchema = z.string().transform((text, context): GroupPlaces => {
  const fail = (message: string): never => {
    context.addIssue(message)
    return z.NEVER
  }
  const places: GroupPlaces[number][] = []
  for (const part of text.split(',')) {
    const { group, tenant, role } = entry.exec(part.trim())?.groups ?? {}
    if (group === undefined || tenant === undefined || !isRole(role)) {
      return fail(`must be a list like group=tenant:role,…, with a role of: ${roles.join(', ')}`)
    }
    if (role === 'owner' && tenant !== 'owner') {
      return fail('gives the role owner in another tenant than owner: write group=owner:owner')
    }
    places.push({ group: group.trim(), tenant, role })
  }
  return places
})

const isRole = (text: string | undefined): text is Role => (roles as readonly (string | undefined)[]).includes(text)

/** A claim with one value may stand without a list. */
export const groupsIn = (claim: unknown): string[] =>
  (Array.isArray(claim) ? claim : [claim]).filter((group) => typeof group === 'string')

/** The first that fits, in the order of the setting. */
export function placeOf(places: GroupPlaces, groups: readonly string[]): Place | undefined {
  const has = new Set(groups)
  return places.find(({ group }) => has.has(group))
}
