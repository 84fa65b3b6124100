// How a link's rules stand in Postgres and in Redis: in their order, and at the end, without a condition, where all others
// lead. What was not written so counts as no rules at all.
import type { Rule, Special, When } from '../link.ts'

export interface Guided {
  readonly rules: readonly Rule[]
  /** Where it leads when none of them fits. */
  readonly url: string
}

export const storedRules = ({ rules, url }: Guided): readonly unknown[] => [...rules, { url }]

/** Undefined: these are none of ours. */
export function readRules(stored: unknown): Guided | undefined {
  if (!Array.isArray(stored) || !stored.every(hasUrl)) return undefined
  const last = stored.at(-1)
  const rules = stored.slice(0, -1)
  return last !== undefined && rules.every(isRule) ? { rules, url: last.url } : undefined
}

const hasUrl = (value: unknown): value is { readonly url: string } =>
  isObject(value) && typeof value['url'] === 'string'

const isRule = (value: object): value is Rule => 'when' in value && isObject(value.when) && isWhen(value.when)

const isWhen = (when: Readonly<Record<string, unknown>>): when is Record<string, unknown> & When =>
  (['device', 'os', 'language'] as const).every((name) => isOptional(when[name], 'string')) &&
  (['afterS', 'beforeS'] as const).every((name) => isOptional(when[name], 'number')) &&
  (when['query'] === undefined || (isObject(when['query']) && Object.values(when['query']).every(isString)))

const isString = (value: unknown): value is string => typeof value === 'string'
const isOptional = (value: unknown, type: 'string' | 'number'): boolean => value === undefined || typeof value === type
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What the columns of a link's row say of where it leads. Rules that are none of ours lead nowhere. */
export function leadIn(row: { readonly url: string; readonly rules: unknown; readonly hasPassword: boolean }): {
  readonly url: string
  readonly special?: Special
} {
  if (row.hasPassword) return { url: '', special: 'password' }
  if (row.rules === null) return { url: row.url }
  const { url, rules } = readRules(row.rules) ?? { url: '', rules: [] }
  return { url, special: rules }
}
