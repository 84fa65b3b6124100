// What a User-Agent says: for the rules of links and for statistics alike, so that both call the same thing the same.
import { isbot } from 'isbot'
import { LRUCache } from 'lru-cache'
import UAParser from 'my-ua-parser'
import { limits } from '../limits.ts'
import type { Device, Os } from '../link.ts'

// Browsers say more than they are: the first of these that is there is what it is. Edge and Opera are named otherwise, and
// run on the same. An iPad says Macintosh unless its user asks for mobile pages: nothing that it sends tells it from one.
const words: readonly (readonly [word: string, os: Os])[] = [
  ['iPhone', 'ios'], ['iPad', 'ios'], ['iPod', 'ios'], ['Android', 'android'], ['Windows', 'windows'],
  ['CrOS', 'chromeos'], ['Macintosh', 'macos'], ['Linux', 'linux'],
] // prettier-ignore

export const osOf = (userAgent: string): Os | undefined => words.find(([word]) => userAgent.includes(word))?.[1]

/** As MDN has it: what is held in a hand says "Mobi", a tablet with Android does not. */
export function deviceOf(userAgent: string): Device | undefined {
  const os = osOf(userAgent)
  if (userAgent.includes('iPad') || userAgent.includes('Tablet')) return 'tablet'
  if (userAgent.includes('Mobi')) return 'mobile'
  if (os === 'android') return 'tablet'
  return os === undefined || os === 'ios' ? undefined : 'desktop'
}

/** `preview`: fetched so that a message shows what it links to. */
type Kind = 'person' | 'bot' | 'preview'

export interface Agent {
  readonly kind: Kind
  /** With the first number of its version. */
  readonly browser: string | undefined
  readonly os: Os | undefined
  readonly device: Device | undefined
}

/** In lower case. */
const previewers = [
  'slackbot', 'slack-imgproxy', 'twitterbot', 'facebookexternalhit', 'facebot', 'linkedinbot', 'discordbot', 'telegrambot',
  'whatsapp', 'mastodon', 'pleroma', 'misskey', 'akkoma', 'lemmy', 'bluesky', 'cardyb', 'skypeuripreview',
  'microsoftpreview', 'iframely', 'embedly', 'redditbot', 'vkshare', 'viber', 'matrix-media-repo', 'synapse', 'signal-',
  'mattermost', 'rocket.chat', 'zulip', 'line-poker', 'kakaotalk-scrap', 'pinterestbot', 'snap url preview',
] // prettier-ignore

export function parseAgent(userAgent: string): Agent {
  const kind = kindOf(userAgent)
  if (kind !== 'person') return { kind, browser: undefined, os: undefined, device: undefined }
  const { name, version } = new UAParser(userAgent).getBrowser()
  const major = /^\d{1,4}/.exec(version ?? '')?.[0]
  const browser = name === undefined ? undefined : major === undefined ? name : `${name} ${major}`
  return { kind, browser, os: osOf(userAgent), device: deviceOf(userAgent) }
}

/** People's browsers say what they are. */
function kindOf(userAgent: string): Kind {
  const said = userAgent.toLowerCase()
  if (previewers.some((name) => said.includes(name))) return 'preview'
  return said === '' || isbot(userAgent) ? 'bot' : 'person'
}

/** Remembers those that came lately: most visitors have one of a few. */
export function createAgents(): (userAgent: string) => Agent {
  const parsed = new LRUCache<string, Agent>({ max: limits.visitAgents })
  return (userAgent) => {
    const known = parsed.get(userAgent)
    if (known !== undefined) return known
    const agent = parseAgent(userAgent)
    parsed.set(userAgent, agent)
    return agent
  }
}
