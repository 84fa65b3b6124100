// What strangers send: read in a moment, and nothing of it does what they want.
import { describe, expect, it } from 'vitest'
import { limits } from '../limits.ts'
import { createAgents, parseAgent } from './agent.ts'
import { cleaned, otherValue } from './batch.ts'
import { classify } from './classify.ts'
import { createDoorkeeper } from './doorkeeper.ts'
import { nothingSaid, readSlot, saidBy, writeSlot, type Said, type Seen } from './slots.ts'

const random = (() => {
  let state = 12_345
  return (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return state % below
  }
})()
const pieces = [
  'Mozilla/5.0 ', '(', ')', 'Windows NT ', 'Android ', ';', ' ', 'Chrome/', 'Version/', '.', '0', '9'.repeat(50), ' '.repeat(90),
  'a'.repeat(60), 'Safari/', 'Firefox/', 'Mobile', '/', '-', 'bot', 'http', 'like Gecko', 'Opera', '; ', 'build/', 'wv', '\t',
  '%', ',', 'samsung ', 'lg', 'MSIE ', 'rv:', 'Edg/', '\xff', '\x80', 'https://', '@', '[::1]', 'www.', '%c3', '&utm_source=',
  '%00', '+', 'de-', '=', ':', 'é', 'iPhone', 'iPad', 'CrOS', '(', '((', '-->', "'", '"', '<',
] // prettier-ignore
function text(longest: number): string {
  let said = ''
  const length = random(longest)
  const few = 1 + random(pieces.length)
  while (said.length < length) said += pieces[random(few)]!.repeat(random(10) === 0 ? 1 + random(30) : 1)
  return said.slice(0, longest)
}
const roundTrip = (said: Partial<Said>, address = '', query?: string, rule?: number): Seen => {
  const slots = Buffer.alloc(3 * limits.visitBytes, 0x77)
  writeSlot(slots, limits.visitBytes, { ...nothingSaid, ...said }, address, query, rule)
  expect(slots.subarray(0, limits.visitBytes).every((byte) => byte === 0x77)).toBe(true)
  expect(slots.subarray(2 * limits.visitBytes).every((byte) => byte === 0x77)).toBe(true)
  return readSlot(slots, limits.visitBytes)
}
const told = (said: Partial<Said>, query?: string, rule?: number) => {
  const seen = roundTrip(said, '192.0.2.1', query, rule)
  const { values, isPerson } = classify(seen, parseAgent(seen.userAgent), undefined)
  const [referrer, source, medium, campaign, country, browser, os, device, language, bot, target] = values
  return { referrer, source, medium, campaign, country, browser, os, device, language, bot, target, isPerson }
}

const safari = 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1' // prettier-ignore
const edge = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0' // prettier-ignore

describe('what is told of a visit', () => {
  it('is what its fields say', () => {
    expect(told({ userAgent: safari, referer: 'https://www.News.example:8443/a?b', acceptLanguage: 'de-CH, en;q=0.9' }, 'x=1&utm_source=b%C3%BCro+1&utm_medium=mail&utm_campaign=')).toEqual({
      referrer: 'news.example', source: 'büro 1', medium: 'mail', campaign: undefined, country: undefined,
      browser: 'Mobile Safari 17', os: 'ios', device: 'mobile', language: 'de', bot: 'person', target: undefined, isPerson: true,
    }) // prettier-ignore
    expect(told({ userAgent: edge }, undefined, 0)).toMatchObject({ browser: 'Edge 126', os: 'windows', device: 'desktop', target: 'default' }) // prettier-ignore
    expect(told({ userAgent: edge, referer: 'android-app://com.slack/' }, undefined, 3)).toMatchObject({ referrer: 'com.slack', target: 'rule 3' }) // prettier-ignore
  })

  it('tells bots, previews and prefetches from people', () => {
    const kinds: [string, string][] = [
      ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', 'preview'],
      ['http.rb/5.1.1 (Mastodon/4.2.0; +https://mastodon.social/)', 'preview'],
      ['facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)', 'preview'],
      ['WhatsApp/2.23.20.0', 'preview'], ['TelegramBot (like TwitterBot)', 'preview'],
      ['Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)', 'preview'],
      ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'bot'],
      ['curl/8.5.0', 'bot'], ['', 'bot'], [safari, 'person'], [edge, 'person'],
    ] // prettier-ignore
    for (const [userAgent, bot] of kinds) expect(told({ userAgent })).toMatchObject({ bot, isPerson: bot === 'person' })
    for (const said of ['prefetch', 'prefetch;prerender', 'Prefetch;anonymous-client-ip', 'preview']) {
      const { purpose } = saidBy(undefined, undefined, undefined, undefined, undefined, [undefined, said])
      expect(told({ userAgent: safari, purpose })).toMatchObject({ bot: 'prefetch', isPerson: false })
    }
  })

  it('never is a word of ours, a control character, half a character, or longer than its bound', () => {
    for (const value of [otherValue, '((other)', '%28other)', ' (other)']) expect(told({}, `utm_source=${value}`).source).toBe('other)') // prettier-ignore
    expect(told({}, 'utm_source=a%00b%0d%0ac%e2%80%ae').source).toBe('abc')
    expect(told({}, `utm_source=${'%C3%BC'.repeat(100)}`).source).toBe('ü'.repeat(20))
    expect(told({}, `utm_source=x${'%C3%BC'.repeat(100)}`).source).toBe(`x${'ü'.repeat(19)}`)
    for (const referer of ['x', '', '://', 'https://', 'https:///x', 'https://a b/', 'https://\xff/', 'https://(other)/', `https://${'a'.repeat(50)} `]) expect(told({ referer }).referrer).toBeUndefined() // prettier-ignore
    expect(told({ referer: 'https://user:secret@a.example/' }).referrer).toBe('a.example')
    expect(told({ referer: `https://${'a'.repeat(300)}/` }).referrer).toHaveLength(64)
  })

  it('leaves no more than its slot, whatever is sent', () => {
    for (let n = 0; n < 5000; n++) {
      const [userAgent, referer, acceptLanguage, address] = [text(600), text(600), text(40), text(80)]
      const seen = roundTrip({ userAgent, referer, acceptLanguage }, address, text(800), n % 12)
      expect(userAgent.startsWith(seen.userAgent)).toBe(true)
      expect(address.startsWith(seen.address)).toBe(true)
    }
  })
})

describe('100,000 hostile headers', () => {
  it('are each read in less than a millisecond, and values are what may be kept', () => {
    // A pause of the machine is no header's fault: one that was slow is slow again.
    const slow: string[] = []
    const read = (said: Partial<Said>, query: string): void => {
      for (const value of Object.values(told(said, query))) {
        if (typeof value !== 'string') continue
        if (value === '' || value.length > 64 || cleaned(value) !== value || value.startsWith('(')) slow.push(value)
      }
    }
    const slots = Buffer.alloc(limits.visitBytes)
    const once = (said: Said, query: string): number => {
      const beganMs = performance.now()
      writeSlot(slots, 0, said, '192.0.2.1', query, undefined)
      const seen = readSlot(slots, 0)
      classify(seen, parseAgent(seen.userAgent), undefined)
      return performance.now() - beganMs
    }
    for (let n = 0; n < 100_000; n++) {
      const said = {
        ...nothingSaid,
        userAgent: text(512),
        referer: text(300),
        acceptLanguage: text(60),
        purpose: text(40),
      }
      const query = `utm_source=${text(200)}&utm_medium=${text(80)}`
      if (n % 20 === 0) read(said, query)
      if (once(said, query) < 1) continue
      const again = Math.min(...Array.from({ length: 20 }, () => once(said, query)))
      if (again >= 1) slow.push(JSON.stringify(said))
    }
    expect(slow).toEqual([])
  }, 120_000)
})

describe('a flood of 500,000 random values', () => {
  it('leaves few names, and takes theirs from none that come again', () => {
    const doorkeeper = createDoorkeeper()
    const named = new Set<string>()
    let true_ = 0
    let trueNamed = 0
    for (let n = 0; n < 500_000; n++) {
      // One in fifty is one of ten that people really come from.
      const isTrue = n % 50 === 0
      const value = isTrue ? `site-${(n / 50) % 10}.example` : `${n * 7919}.flood.example`
      const lets = doorkeeper.lets(1, 0, value, 0)
      if (lets) named.add(value)
      if (isTrue) true_++
      if (isTrue && lets) trueNamed++
    }
    expect(named.size).toBeLessThan(2 * limits.visitValuesNamed)
    expect(trueNamed / true_).toBeGreaterThan(0.95)
  }, 60_000)

  it('of user agents leaves a bounded memory', () => {
    const agents = createAgents()
    const before = process.memoryUsage().heapUsed
    for (let n = 0; n < 20_000; n++) agents(`Mozilla/5.0 (X11; ${' '.repeat(200)}; rv:${n}) Firefox/${n}`)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100e6)
    expect(agents(edge).browser).toBe('Edge 126')
  }, 60_000)
})
