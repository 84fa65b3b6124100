// The one file of tiers: what a tenant may use. null means no limit.
//
// TIERS (or the file that TIERS_FILE names) overrides single numbers of `standard` and `plus`, as JSON:
//
//   {"standard": {"createsPerHour": 100, "links": 5000}, "plus": {"monthlyHits": null}}
//
// Fields: createsPerHour, changesPerHour, links, monthlyHits (per link and calendar month), lifeDays. What is left out stays
// as it is here.
import { z } from 'zod'

export const tierNames = ['standard', 'plus', 'unlimited'] as const
export type TierName = (typeof tierNames)[number]

export interface Tier {
  /** As many creates that fail are free. Further ones count as creates. */
  readonly createsPerHour: number | null
  /** PATCH and DELETE of links, whatever their outcome. */
  readonly changesPerHour: number | null
  readonly links: number | null
  /** Hits per link and month. A tenant may ask for less. */
  readonly monthlyHits: number | null
  /** How long a link lives at most. */
  readonly lifeDays: number | null
  /** Counts in the limit of all such tenants together (RATE_LIMIT_AGGREGATE_PER_HOUR). */
  readonly inAggregate: boolean
}

export type Tiers = Readonly<Record<TierName, Tier>>

export const defaultTiers: Tiers = {
  standard: {
    createsPerHour: 50,
    changesPerHour: 600,
    links: 1000,
    monthlyHits: 10_000,
    lifeDays: 365,
    inAggregate: true,
  },
  plus: {
    createsPerHour: 200,
    changesPerHour: 6000,
    links: 10_000,
    monthlyHits: 10_000,
    lifeDays: 365,
    inAggregate: false,
  },
  // The owner's own tenant is of this one, so it cannot be changed.
  unlimited: {
    createsPerHour: null,
    changesPerHour: null,
    links: null,
    monthlyHits: null,
    lifeDays: null,
    inAggregate: false,
  },
}

const bounded = (max: number) => {
  const form = `must be a whole number from 1 to ${max}, or null for no limit`
  return z.int(form).min(1, form).max(max, form).nullable().optional()
}

const overrides = z.strictObject({
  createsPerHour: bounded(1_000_000),
  changesPerHour: bounded(1_000_000),
  links: bounded(2 ** 31 - 1),
  monthlyHits: bounded(2 ** 31 - 1),
  lifeDays: bounded(36_500),
})
const schema = z.strictObject({ standard: overrides.optional(), plus: overrides.optional() })

/** From JSON; what is wrong with it is an issue that completes a sentence beginning with the variable's name. */
export const tiersSchema = z.string().transform((text, context): Tiers => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return refuse(context, 'must be JSON like {"standard": {"createsPerHour": 100}}')
  }
  const parsed = schema.safeParse(json)
  if (!parsed.success) return refuse(context, describe(parsed.error.issues[0]))
  return {
    standard: merge(defaultTiers.standard, parsed.data.standard),
    plus: merge(defaultTiers.plus, parsed.data.plus),
    unlimited: defaultTiers.unlimited,
  }
})

const merge = (tier: Tier, changed: z.output<typeof overrides> = {}): Tier => ({
  ...tier,
  ...Object.fromEntries(Object.entries(changed).filter(([, value]) => value !== undefined)),
})

function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}

function describe(issue: z.core.$ZodIssue | undefined): string {
  const where = issue?.path.map(String).join('.') ?? ''
  if (issue?.code === 'unrecognized_keys') {
    const field = [where, issue.keys[0]].filter(Boolean).join('.')
    return `must not name ${field}: only standard and plus can be changed, in createsPerHour, changesPerHour, links, monthlyHits and lifeDays`
  }
  if (where === '') return 'must be JSON like {"standard": {"createsPerHour": 100}}'
  return `has a mistake at ${where}: it ${issue?.code === 'custom' || issue?.message.startsWith('must') ? issue.message : 'must be an object'}`
}

export const isTierName = (name: string): name is TierName => (tierNames as readonly string[]).includes(name)
