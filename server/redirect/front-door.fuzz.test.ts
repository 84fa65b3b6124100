// The front door may never answer what node:http would refuse, nor otherwise than node:http would. The same bytes, cut the
// same way, go to a front door with node:http behind it and to node:http alone: what comes back must be equal, whether
// the connection stays open too, and what is counted. testing/search.ts says how to look further.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cases, corpus, cut, longCorpus } from './front-door.cases.stub.ts'
import { search, searches, searchRuns } from '../../testing/search.ts'
import { createPages, isBroken, refusal, serve, type Case, type Outcome } from './front-door.stub.ts'
import type { HttpServer } from './http-server.ts'

const usual = 4000
const runs = searchRuns ?? usual
const timeout = 60_000 + runs * 5

let pages: HttpServer
beforeAll(() => (pages = createPages()))
afterAll(() => pages.close())

const seen = { broken: 0, cases: 0, answers: 0, rawAnswers: 0, refused: 0, answered: 0 }

async function compare(input: Case): Promise<Outcome> {
  const [door, alone] = await Promise.all([serve(pages, input, true), serve(pages, input, false)])
  seen.cases++
  seen.answers += door.statuses.length
  seen.rawAnswers += door.rawAnswers
  if (alone.bytes.includes('HTTP/1.1 4')) seen.refused++
  if (alone.bytes.includes('HTTP/1.1 30')) seen.answered++
  if (door.bytes !== alone.bytes && (await isBroken(pages, input, door, alone))) {
    seen.broken++
    return door
  }
  expect({ bytes: door.bytes, closed: door.closed }).toEqual({ bytes: alone.bytes, closed: alone.closed })
  // After an early FIN nobody gets the answer; node:http finds out only when it is counted. So with what it has begun when
  // it refuses what comes next.
  if (input.fin !== 'early' && !refusal.test(alone.bytes))
    expect([door.statuses, door.clicks, door.visits]).toEqual([alone.statuses, alone.clicks, alone.visits])
  return door
}

async function explain([input]: [Case]): Promise<string> {
  const { chunks, gaps, fin } = input
  const [door, alone] = [await serve(pages, input, true), await serve(pages, input, false)]
  const sent = chunks.map((chunk) => JSON.stringify(chunk.toString('latin1')))
  return [...sent, JSON.stringify({ gaps, fin, door, alone }, null, 1)].join('\n')
}

const whole = (text: string): Case => ({ chunks: cut(text, []), gaps: [0], fin: 'none' })

describe('the front door, beside node:http alone', () => {
  it('answers known tricks alike, whole and with an early or late FIN', { timeout }, async () => {
    for (const text of [...corpus, ...longCorpus]) {
      for (const fin of ['none', 'early', 'late'] as const) await compare({ ...whole(text), fin })
    }
  })

  it('answers known tricks alike, cut at every byte and sent byte by byte', { timeout }, async () => {
    const step = runs > usual ? 1 : 5
    for (const [n, text] of corpus.entries()) {
      for (let at = 1 + (n % step); at < text.length; at += step) {
        await compare({ chunks: cut(text, [at]), gaps: [n % 2], fin: 'none' })
      }
      const bytes = Array.from(text, (_, i) => i)
      await compare({ chunks: cut(text, bytes), gaps: [0, 1], fin: 'none' })
    }
  })

  it('answers mutations alike', searches, async () => {
    Object.assign(seen, { broken: 0, cases: 0, answers: 0, rawAnswers: 0, refused: 0, answered: 0 })
    const alike = fc.asyncProperty(cases, async (input) => void (await compare(input)))
    await search('the front door', alike, usual, explain)
    expect(seen.cases).toBeGreaterThan(0)
  })

  it('has really been asked: enough was answered raw, enough was refused', () => {
    if (searchRuns) process.stdout.write(`${JSON.stringify(seen)}\n`)
    expect(seen.rawAnswers / seen.answers).toBeGreaterThan(0.1)
    expect(seen.refused / seen.cases).toBeGreaterThan(0.05)
    expect(seen.answered / seen.cases).toBeGreaterThan(0.2)
  })
})
