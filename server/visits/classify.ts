// What is told of one visit: a value in each dimension, or nothing where nothing is known.
import type { Agent } from './agent.ts'
import { cleaned, dimensions, longestValue, type Dimension } from './batch.ts'
import type { Seen } from './slots.ts'

export interface Told {
  readonly isPerson: boolean
  /** By dimension. */
  readonly values: readonly (string | undefined)[]
}

export function classify(seen: Seen, agent: Agent, country: string | undefined): Told {
  const bot = seen.isPrefetch ? 'prefetch' : agent.kind
  const [source, medium, campaign] = seen.utm
  const values: Record<Dimension, string | undefined> = {
    referrer: referrerOf(seen.referrer),
    utm_source: chosen(source),
    utm_medium: chosen(medium),
    utm_campaign: chosen(campaign),
    country,
    browser: agent.browser,
    os: agent.os,
    device: agent.device,
    language: languageOf(seen.language),
    bot,
    target: seen.rule === undefined ? undefined : seen.rule === 0 ? 'default' : `rule ${seen.rule}`,
  }
  return { isPerson: bot === 'person', values: dimensions.map((dimension) => values[dimension] || undefined) }
}

/** A stranger's text. Words of ours begin with a bracket. Half a character at the end was cut off with the rest. */
const chosen = (text: string): string => cleaned(text.replace(/\ufffd$/, '')).replace(/^[(\s]+/, '')

/** Without a user and a port, and without the `www.` that many have and most leave out. */
function referrerOf(said: string): string | undefined {
  const host = said.slice(said.lastIndexOf('@') + 1).toLowerCase()
  const name = /^(?:www\.)?([\w-][\w.-]*)(?::\d{0,5})?$/.exec(host)?.[1] ?? /^\[[\da-f:.]{2,45}\]/.exec(host)?.[0]
  return name?.slice(0, longestValue)
}

/** Of the first that is asked for. */
const languageOf = (said: string): string | undefined => /^\s*([a-z]{2,3})(?![a-z])/i.exec(said)?.[1]?.toLowerCase()
