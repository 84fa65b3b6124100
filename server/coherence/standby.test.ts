import { afterEach, expect, test } from 'vitest'
import { pause } from '../connections/deadline.ts'
import type { Sql } from '../connections/postgres.ts'
import { waitFor } from '../../embedded/wait.ts'
import type { Cursor } from './cursor.ts'
import { watchStandby } from './standby.ts'
import { createNearTruth, type Truth } from './truth.ts'

const standingAt = (snapshot: string, more = {}): Cursor => ({ identity: 'this', version: 1, snapshot, atS: Date.now() / 1000, ...more }) // prettier-ignore
const answering = (snapshot: string, afterMs = 0): Truth['changesSince'] => async (cursor) => {
  await pause(afterMs)
  return { next: standingAt(cursor?.to ?? snapshot), changes: [], forget: [] }
} // prettier-ignore
const away: Truth['changesSince'] = () =>
  Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))

const nobody = { query: () => Promise.resolve([]) } as unknown as Sql

let stop = (): void => undefined
afterEach(() => stop())

async function startWatching(near: Truth['changesSince'], primary: Truth['changesSince']) {
  const beat = () => Promise.resolve({ n: 1, atS: Date.now() / 1000, isStandby: true })
  const read = () => Promise.reject(new Error('nobody looks up anything'))
  const far = { query: () => Promise.resolve([]) } as unknown as Sql
  const watched = watchStandby({
    ...{ near: { beat, read, changesSince: near }, far },
    ...{ everyMs: 20, lagMaxS: 5, pauseMs: 1000, nowMs: () => performance.now(), clockMs: Date.now },
    onError: () => undefined,
  })
  stop = watched.stop
  await waitFor(() => watched.isUp)
  let followed = 0
  const truth = watched.inNeed({ read: () => Promise.resolve([]), changesSince: primary }, 800, () => followed++)
  return { ...truth, followed: () => followed }
}

test('a primary that is slow is heard when there is nothing to follow', async () => {
  const { changesSince, followed } = await startWatching(away, answering('200:200:', 250))
  await changesSince(null)
  await changesSince(standingAt('150:150:'))
  expect(followed()).toBe(0)
})

test('a primary whose answer came too late for one pass is waited for by the next', async () => {
  let last: Promise<unknown> = Promise.resolve()
  const slow: Truth['changesSince'] = (cursor) => {
    const answer = answering('200:200:', 300)(cursor)
    last = answer
    return answer
  }
  const { changesSince, followed } = await startWatching(answering('160:160:'), slow)
  await changesSince(standingAt('150:150:'))
  expect(followed()).toBe(1)
  await last
  expect((await changesSince(standingAt('150:150:'))).next.snapshot).toBe('200:200:')
  expect(followed()).toBe(1)
})

test('of standbys that take turns one is not followed that is behind what another has said', async () => {
  const ends = ['160:160:', '155:155:']
  const near: Truth['changesSince'] = (cursor) => answering(ends.shift() ?? '')(cursor)
  const { changesSince, followed } = await startWatching(near, away)
  await changesSince(standingAt('150:150:'))
  await expect(changesSince(standingAt('150:150:'))).rejects.toThrow('ECONNREFUSED')
  expect(followed()).toBe(1)
})

test('a standby says nothing of a long list of which it has not got the end', async () => {
  const row = { identity: 'this', version: 1, snapshot: '100:100:', domains: '', at: 1, rows: [], codes: [], more: false, last: null } // prettier-ignore
  const sql = { query: () => Promise.resolve([row]) } as unknown as Sql
  const { changesSince } = createNearTruth(sql, sql)
  const underWay = (to: string): Cursor => standingAt('90:90:', { to, after: ['95', 7] })
  await expect(changesSince(underWay('120:120:'))).rejects.toThrow('the standby has not come so far')
  expect((await changesSince(underWay('100:100:'))).next.snapshot).toBe('100:100:')
})

test('a standby that was late once is not fit, and still asked when the primary is silent', async () => {
  let nowMs = 0
  let isLate = false
  const beat = () =>
    isLate ? Promise.reject(new Error('late')) : Promise.resolve({ n: 1, atS: Date.now() / 1000, isStandby: true })
  const watched = watchStandby({
    ...{ near: { ...createNearTruth(nobody, nobody), beat }, far: nobody },
    ...{ everyMs: 1, lagMaxS: 5, pauseMs: 1000, nowMs: () => nowMs, clockMs: Date.now, onError: () => undefined },
  })
  stop = watched.stop
  await waitFor(() => watched.isFit)
  isLate = true
  await waitFor(() => !watched.isFit)
  expect(watched.isUp).toBe(true)
  nowMs += 2000
  expect(watched.isUp).toBe(false)
})
