// Which rule of a link fits a visitor. Nothing of this is looked at for a link without rules.
//
// What a visitor sends is cut before it is read. Where nothing is known (no User-Agent, another device), no rule that asks
// for it fits.
import Negotiator from 'negotiator'
import { limits } from '../config.ts'
import type { Device, Os, Rule, When } from '../link.ts'

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

// Browsers say more than they are: the first of these that is there is what it is. Edge and Opera are named otherwise, and
// run on the same. An iPad says Macintosh unless its user asks for mobile pages: nothing that it sends tells it from one.
const words: readonly (readonly [word: string, os: Os])[] = [
  ['iPhone', 'ios'], ['iPad', 'ios'], ['iPod', 'ios'], ['Android', 'android'], ['Windows', 'windows'],
  ['CrOS', 'chromeos'], ['Macintosh', 'macos'], ['Linux', 'linux'],
] // prettier-ignore

function osOf(userAgent: string): Os | undefined {
  return words.find(([word]) => userAgent.includes(word))?.[1]
}

/** As MDN has it: what is held in a hand says "Mobi", a tablet with Android does not. */
function deviceOf(userAgent: string): Device | undefined {
  const os = osOf(userAgent)
  if (userAgent.includes('iPad') || userAgent.includes('Tablet')) return 'tablet'
  if (userAgent.includes('Mobi')) return 'mobile'
  if (os === 'android') return 'tablet'
  return os === undefined || os === 'ios' ? undefined : 'desktop'
}

/** Its first choice is that language, or that of one of its regions: `de` fits `de-CH`, and not the other way round. */
function speaks(acceptLanguage: string, language: string): boolean {
  if (acceptLanguage === '') return false
  const [first = ''] = new Negotiator({ headers: { 'accept-language': acceptLanguage } }).languages()
  const [wanted, said] = [language.toLowerCase(), first.toLowerCase()]
  return said === wanted || said.startsWith(`${wanted}-`)
}

function hasAll(said: string, wanted: Readonly<Record<string, string>>): boolean {
  const query = new URLSearchParams(Buffer.from(said, 'latin1').toString())
  return Object.entries(wanted).every(([name, value]) => query.get(name) === value)
}
