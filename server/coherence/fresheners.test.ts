import { expect, test } from 'vitest'
import { Partitions } from '../connections/partitions.ts'
import type { Code } from '../link.ts'
import type { Cursor } from './cursor.ts'
import { createFreshener } from './freshen.ts'
import { createFresheners } from './fresheners.ts'
import type { SharedCache } from './shared-cache.ts'
import { Trust } from './trust.ts'
import type { Truth } from './truth.ts'
import { Landing, Vouching } from './vouching.ts'

const nowMs = (): number => performance.now()
const none = (): Promise<undefined> => Promise.resolve(undefined)
const standingAt = (snapshot: string, more = {}): Cursor => ({ identity: 'this', version: 1, snapshot, atS: 1000, ...more }) // prettier-ignore

/** A Redis that remembers what it was told to forget. */
function partition(vouching: Vouching) {
  let text: string | null = JSON.stringify(standingAt('100:100:'))
  const forgot = new Set<Code>()
  const advance: SharedCache['advance'] = (from, to, _, forget) => {
    if (from !== text) return Promise.resolve('moved')
    text = to
    for (const code of forget ?? []) forgot.add(code)
    return Promise.resolve('written')
  }
  const cache = { ready: true, connection: 1, readCursor: () => Promise.resolve(text), advance } as SharedCache
  return { cache, forgot, trust: new Trust(800, nowMs), landing: new Landing(vouching) }
}

test('a partition of which nothing stands in the first part of a long list is not fresh before it has the rest', async () => {
  const vouching = new Vouching(800)
  const partitions = new Partitions([0, 1, 2, 3].map(() => partition(vouching)))
  const codes = Array.from({ length: 200 }, (_, n) => `code${n}` as Code)
  // The first part is of one partition alone.
  const byPartition = partitions.group(codes, (code) => code)
  const list = [0, 1, 2, 3].flatMap((index) => byPartition.get(index) ?? [])
  const firstEnds = byPartition.get(0)!.length
  const changesSince: Truth['changesSince'] = (cursor) => {
    const isFirst = cursor?.to === undefined
    const next = isFirst ? standingAt('100:100:', { to: '101:101:', after: ['100', 1] }) : standingAt('101:101:')
    const forget = isFirst ? list.slice(0, firstEnds) : list.slice(firstEnds)
    return Promise.resolve(
      cursor?.snapshot === '101:101:' ? { next: cursor, changes: [], forget: [] } : { next, changes: [], forget },
    )
  }
  const told = { vouching, nowMs, onApplied: none, onWipe: none, prepare: none, onGoneBack: none, onFailure: none }
  const fresheners = createFresheners(partitions, { changesSince }, (one, truth) => createFreshener({ ...told, ...one, truth })) // prettier-ignore
  fresheners.tell(undefined)
  await fresheners.settled()
  const lacking = partitions.all.map(({ forgot, trust }, index) => {
    const missed = byPartition.get(index)!.filter((code) => !forgot.has(code)).length
    return trust.holds(1) ? missed : 0
  })
  expect(lacking).toEqual([0, 0, 0, 0])
})
