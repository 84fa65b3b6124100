// The front door may never answer what node:http would refuse, nor otherwise than node:http would. The same bytes, cut the
// same way, go to a front door with node:http behind it and to node:http alone: what comes back must be equal, whether
// the connection stays open too, and what is counted. QL_FUZZ_CASES makes it search longer, QL_FUZZ_SEED replays.
import type { Server } from 'node:http'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cases, corpus, cut, longCorpus } from './front-door.cases.stub.ts'
import { createPages, serve, type Case, type Outcome } from './front-door.stub.ts'

const runs = Number(process.env['QL_FUZZ_CASES'] ?? 4000)
const seed = Number(process.env['QL_FUZZ_SEED'] ?? 20_240_611)
const timeout = 60_000 + runs * 5

let pages: Server
beforeAll(() => {
  pages = createPages()
})
afterAll(() => {
  pages.close()
})

const seen = { cases: 0, answers: 0, rawAnswers: 0, refused: 0, answered: 0 }

async function compare(input: Case): Promise<Outcome> {
  const [door, alone] = await Promise.all([serve(pages, input, true), serve(pages, input, false)])
  seen.cases++
  seen.answers += door.statuses.length
  seen.rawAnswers += door.rawAnswers
  if (alone.bytes.includes('HTTP/1.1 4')) seen.refused++
  if (alone.bytes.includes('HTTP/1.1 30')) seen.answered++
  expect({ bytes: door.bytes, closed: door.closed }).toEqual({ bytes: alone.bytes, closed: alone.closed })
  // After an early FIN nobody gets the answer; node:http finds out only when it is counted.
  if (input.fin !== 'early') expect([door.statuses, door.clicks]).toEqual([alone.statuses, alone.clicks])
  return door
}

const explain = (result: fc.RunDetails<[Case]>): string => {
  const [input] = result.counterexample ?? []
  const chunks = input?.chunks.map((chunk) => JSON.stringify(chunk.toString('latin1'))) ?? []
  const how = JSON.stringify({ gaps: input?.gaps, fin: input?.fin })
  return [`seed ${result.seed}, path ${result.counterexamplePath ?? ''}`, ...chunks, how].join('\n')
}
async function differenceOf(input: Case | undefined): Promise<string> {
  if (!input) return ''
  return JSON.stringify({ door: await serve(pages, input, true), alone: await serve(pages, input, false) }, null, 1)
}

const whole = (text: string): Case => ({ chunks: cut(text, []), gaps: [0], fin: 'none' })

describe('the front door, beside node:http alone', () => {
  it('answers known tricks alike, whole and with an early or late FIN', { timeout }, async () => {
    for (const text of [...corpus, ...longCorpus]) {
      for (const fin of ['none', 'early', 'late'] as const) await compare({ ...whole(text), fin })
    }
  })

  it('answers known tricks alike, cut at every byte and sent byte by byte', { timeout }, async () => {
    const step = runs > 4000 ? 1 : 5
    for (const [n, text] of corpus.entries()) {
      for (let at = 1 + (n % step); at < text.length; at += step) {
        await compare({ chunks: cut(text, [at]), gaps: [n % 2], fin: 'none' })
      }
      const bytes = Array.from(text, (_, i) => i)
      await compare({ chunks: cut(text, bytes), gaps: [0, 1], fin: 'none' })
    }
  })

  it('answers mutations alike', { timeout }, async () => {
    Object.assign(seen, { cases: 0, answers: 0, rawAnswers: 0, refused: 0, answered: 0 })
    const result = await fc.check(
      fc.asyncProperty(cases, async (input) => void (await compare(input))),
      {
        seed,
        numRuns: runs,
        endOnFailure: runs > 100_000,
      },
    )
    if (result.failed) throw new Error(`${explain(result)}\n${await differenceOf(result.counterexample?.[0])}`)
    expect(result.numRuns).toBe(runs)
  })

  it('has really been asked: enough was answered raw, enough was refused', () => {
    if (process.env['QL_FUZZ_CASES']) process.stdout.write(`${JSON.stringify(seen)}\n`)
    expect(seen.rawAnswers / seen.answers).toBeGreaterThan(0.1)
    expect(seen.refused / seen.cases).toBeGreaterThan(0.05)
    expect(seen.answered / seen.cases).toBeGreaterThan(0.2)
  })
})
