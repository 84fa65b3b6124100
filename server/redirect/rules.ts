// Which rule of a link fits a visitor. Nothing of this is looked at for a link without rules.
//
// What a visitor sends is cut before it is read. Where nothing is known (no User-Agent, another device), no rule that asks
// for it fits.
import { LRUCache } from 'lru-cache'
import Negotiator from 'negotiator'
import { limits } from '../limits.ts'
import type { Rule, When } from '../link.ts'
import { deviceOf, osOf } from '../visits/agent.ts'

/** What a rule may ask for; read only if one does. */
export interface Visit {
  readonly userAgent: string | undefined
  readonly acceptLanguage: string | undefined
  /** Behind the question mark, a byte per character. */
  readonly query: string | undefined
}

/** The first rule that fits; undefined: none. */
export const firstThatFits = (rules: readonly Rule[], visit: Visit, nowMs: () => number): Rule | undefined =>
  rules.find(({ when }) => fits(when, visit, nowMs))

/** All that it names has to be so. */
function fits({ afterS, beforeS, device, os, language, query }: When, visit: Visit, nowMs: () => number): boolean {
  if (afterS !== undefined && nowMs() < afterS * 1000) return false
  if (beforeS !== undefined && nowMs() >= beforeS * 1000) return false
  if (os !== undefined && osOf(cut(visit.userAgent, limits.userAgent)) !== os) return false
  if (device !== undefined && deviceOf(cut(visit.userAgent, limits.userAgent)) !== device) return false
  if (language !== undefined && !speaks(cut(visit.acceptLanguage, limits.acceptLanguage), language)) return false
  return query === undefined || hasAll(cut(visit.query, limits.visitQuery), query)
}

const cut = (text: string | undefined, length: number): string => text?.slice(0, length) ?? ''

/** Its first choice is that language, or that of one of its regions: `de` fits `de-CH`, and not the other way round. */
function speaks(acceptLanguage: string, language: string): boolean {
  if (acceptLanguage === '') return false
  const [wanted, said] = [language.toLowerCase(), firstOf(acceptLanguage)]
  return said === wanted || said.startsWith(`${wanted}-`)
}

/** Most visitors say one of a few, and those are short. (What was cut off a long one would keep the whole of it in memory.) */
const firstOnes = new LRUCache<string, string>({ max: limits.visitAgents })

function firstOf(acceptLanguage: string): string {
  const known = firstOnes.get(acceptLanguage)
  if (known !== undefined) return known
  const [first = ''] = new Negotiator({ headers: { 'accept-language': acceptLanguage } }).languages()
  if (acceptLanguage.length < limits.acceptLanguage) firstOnes.set(acceptLanguage, first.toLowerCase())
  return first.toLowerCase()
}

function hasAll(said: string, wanted: Readonly<Record<string, string>>): boolean {
  const query = new URLSearchParams(Buffer.from(said, 'latin1').toString())
  return Object.entries(wanted).every(([name, value]) => query.get(name) === value)
}
