// What a tier promises of a link is the most that can be had: a tenant may ask for less, never for more, and what it does
// not say is the tier's.
import { invalid } from '../errors.ts'
import { lastTimeMs } from '../link.ts'
import type { Tier } from '../tenants/tiers.ts'

type LinkTerms = Pick<Tier, 'monthlyHits' | 'lifeDays'>

const dayMs = 86_400_000
/** A client's clock may be ahead of ours when it asks for all of it. */
const clockMs = 60_000

export function agreedHits(terms: LinkTerms, asked: number | null): number | null {
  const most = terms.monthlyHits
  if (asked !== null && most !== null && asked > most) {
    throw invalid('monthlyHits', `monthlyHits must be at most ${most}, which is what this tenant's tier allows.`)
  }
  return asked ?? most
}

/** Exact to the second. A change may ask for the whole life anew. */
export function agreedExpiry(terms: LinkTerms, asked: Date | null, nowMs: number): Date | null {
  if (terms.lifeDays === null) return asked
  const latestMs = Math.min(nowMs + terms.lifeDays * dayMs, lastTimeMs)
  if (asked !== null && asked.getTime() > latestMs + clockMs) {
    throw invalid(
      'expiresAt',
      `expiresAt must be at most ${terms.lifeDays} days ahead, which is what this tenant's tier allows.`,
    )
  }
  return asked ?? new Date(Math.floor(latestMs / 1000) * 1000)
}
