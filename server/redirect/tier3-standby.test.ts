// What of a standby's answers counts, and for what.
import { describe, expect, it } from 'vitest'
import { News } from '../coherence/news.ts'
import type { Cursor } from '../coherence/cursor.ts'
import { Landing, Vouching } from '../coherence/vouching.ts'
import { absent, type Code } from '../link.ts'
import { createNearTier } from './tier3-standby.ts'

const code = (name: string): Code => name as Code
const cursor = (xid: number, identity = 'one'): Cursor => ({
  identity,
  version: xid,
  snapshot: `${xid}:${xid}:`,
  atS: 0,
})

function start() {
  const world = { nowMs: 1000, at: cursor(100), isFit: true, isUp: true, hangs: false, asked: 0, failed: 0 }
  const news = new News(3)
  const vouching = new Vouching(800)
  const landing = new Landing(vouching)
  const heard = (xid: number, codes: readonly Code[] | 'anything' = []): void => {
    news.heard(cursor(xid), codes)
    vouching.answered(world.nowMs, codes.length > 0)
  }
  heard(100, 'anything')
  const near = createNearTier({
    near: {
      read(codes) {
        world.asked++
        if (world.hangs) return new Promise(() => undefined)
        return Promise.resolve({ knowns: codes.map(() => absent(world.at.version)), asOf: world.at })
      },
    },
    state: {
      get isFit() {
        return world.isFit
      },
      get isUp() {
        return world.isUp
      },
      failed: () => world.failed++,
    },
    news,
    vouching,
    landingOf: () => landing,
    config: { dbTimeoutMs: 30 },
    nowMs: () => world.nowMs,
    onBatch: () => undefined,
  })
  return { world, news, vouching, landing, heard, near }
}

describe('an answer of a standby', () => {
  it('counts while it knows the last news of its code, whatever else was heard', async () => {
    const { world, heard, near } = start()
    expect(await near.get(code('a'))).toEqual(absent(100))
    heard(110, [code('a')])
    expect(await near.get(code('a'))).toBe('unknown')
    expect(await near.get(code('b'))).toEqual(absent(100))
    world.at = cursor(110)
    expect(await near.get(code('a'))).toEqual(absent(110))
  })

  it('counts only after all of a long list, and of what is too much to remember', async () => {
    const { world, heard, near } = start()
    heard(110, 'anything')
    expect(await near.get(code('b'))).toBe('unknown')
    world.at = cursor(110)
    expect(await near.get(code('b'))).toEqual(absent(110))
    heard(120, [code('c')])
    heard(130, [code('d'), code('e'), code('f')])
    // Of c it is not remembered any more since when.
    expect(await near.get(code('b'))).toBe('unknown')
    world.at = cursor(120)
    expect(await near.get(code('b'))).toEqual(absent(120))
    expect(await near.get(code('d'))).toBe('unknown')
  })

  it('does not count of another database, nor once passes have heard of one', async () => {
    const { world, news, near } = start()
    world.at = cursor(200, 'another')
    expect(await near.get(code('a'))).toBe('unknown')
    world.at = cursor(100)
    news.forget()
    expect(await near.get(code('a'))).toBe('unknown')
  })

  it('is not asked for while passes hear nothing, or it is behind; only for those whom nobody else answers', async () => {
    const { world, near } = start()
    world.nowMs += 800
    expect(await near.get(code('a'))).toBe('unknown')
    world.nowMs -= 800
    world.isFit = false
    expect(await near.get(code('a'))).toBe('unknown')
    expect(world.asked).toBe(0)
    expect(await near.getBehind(code('a'))).toEqual(absent(100))
    world.isUp = false
    expect(await near.getBehind(code('a'))).toBe('unknown')
    expect(world.asked).toBe(1)
  })

  it('that does not come in time is none, and that is said', async () => {
    const { world, near } = start()
    world.hangs = true
    expect(await near.get(code('a'))).toBe('unknown')
    expect(world.failed).toBe(1)
  })

  it('may be put into a Redis that has landed where passes have come, and into no other', () => {
    const { vouching, landing, near } = start()
    const land = (xid: number): string => {
      const text = JSON.stringify(cursor(xid))
      landing.hasLanded(text, cursor(xid), vouching.news)
      return text
    }
    expect(near.mayFill(code('a'), land(100))).toBe(true)
    expect(near.mayFill(code('a'), land(90))).toBe(true)
    expect(near.mayFill(code('a'), JSON.stringify(cursor(80)))).toBe(false)
    expect(near.mayFill(code('a'), null)).toBe(false)
    // The other half of a pass has asked Postgres by itself, and heard of more than passes have.
    expect(near.mayFill(code('a'), land(110))).toBe(false)
  })
})
