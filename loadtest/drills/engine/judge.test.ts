import { expect, test } from 'vitest'
import type { Drill, Promised } from './drill.ts'
import { judge, unsteady } from './judge.ts'
import type { Answered, Load } from './load.ts'
import { createOracle } from './oracle.ts'
import { lookBack, type Observed } from './observed.ts'
import type { Watch } from './watch.ts'

const answer = (dueMs: number, more: Partial<Answered> = {}): Answered => ({
  dueMs,
  lateMs: 1,
  ms: 2,
  group: 'hot',
  code: 'a',
  status: 302,
  usual: true,
  ...more,
})

/** 100 requests/s for 4 s, the fault in the second of them. */
function observed(more: Partial<Answered> = {}, may: number[] = []): Observed {
  const answers = Array.from({ length: 400 }, (_, n) => answer(n * 10, more))
  const none = { beforeBaseline: [], beforeFault: [], beforeHeal: [], recovered: [], atEnd: [] }
  return lookBack({
    moments: { beganMs: 0, injectedMs: 1000, landedMs: 1000, healedMs: 2000, recoveredMs: 3000, endedMs: 4000 },
    load: { ...createOracle(), answers } as unknown as Load,
    watch: { looks: [], first: () => undefined } as unknown as Watch,
    scrapes: none,
    noted: new Map([['recovered', 1], ['uncounted', 0]]),
    may: () => may,
    breakerOpenMs: 30_000,
    workers: 2,
  }) // prettier-ignore
}

const drillThat = (promised: Promised): Drill => ({ during: [promised], after: [] }) as unknown as Drill
const latency: Promised = { what: 'p99', figure: ({ fault }) => fault.quantile(0.99), unit: 'ms', atMost: 50, latency: true } // prettier-ignore
const check = (promised: Promised, from: Observed) => judge(drillThat(promised), from).checks.find(({ claim }) => claim === promised.what) // prettier-ignore

test('everything kept', () => {
  const { checks, doubts } = judge(drillThat(latency), observed())
  expect(checks.filter(({ ok }) => !ok)).toEqual([])
  expect(doubts).toEqual([])
})

test('a latency out of bounds is a broken promise, but only a doubt when the load itself was late', () => {
  expect(check(latency, observed({ ms: 60 }))).toMatchObject({ ok: false, measured: '60 ms' })
  const late = observed({ ms: 90, lateMs: 40 })
  expect(check(latency, late)).toBeUndefined()
  expect(judge(drillThat(latency), late).doubts[0]).toContain('the machine is busy with something else')
})

test('failures count however late the load was, and so does a moment that never came', () => {
  const failed = judge(drillThat(latency), observed({ status: 503, lateMs: 40 })).checks.filter(({ ok }) => !ok)
  expect(failed.map(({ claim, measured }) => [claim, measured])).toEqual([
    ['answers outside the promised ones', '100'],
    ['answers outside the promised ones, from the heal on', '200'],
  ])
  const never: Promised = { what: 'breaker open', figure: ({ untilAll }) => untilAll(1000, () => true), unit: 'ms', atMost: 1000 } // prettier-ignore
  expect(check(never, observed())).toMatchObject({ ok: false, measured: 'never' })
})

test('where the machine was busy before the fault, late answers are a doubt, and counts are judged', () => {
  const closes: Promised = { what: 'breaker closed', figure: () => 3000, unit: 'ms', atMost: 2000 }
  const lost: Promised = { what: 'visits lost', figure: () => 7, atMost: 0 }
  const drill = { during: [closes, lost], after: [] } as unknown as Drill
  const { checks, doubts } = judge(drill, observed(), { isBusy: true })
  expect(doubts).toHaveLength(1)
  expect(doubts[0]).toContain('breaker closed: 3,000 ms')
  expect(checks.filter(({ ok }) => !ok).map(({ claim }) => claim)).toEqual(['visits lost'])
  expect(judge(drill, observed()).checks.filter(({ ok }) => !ok)).toHaveLength(2)
  expect(judge(drill, observed({ status: 503 }), { isBusy: true }).doubts).toHaveLength(3)
})

test('a 503 without Retry-After is a failure also where 503 is promised', () => {
  expect(observed({ status: 503 }, [503]).fault.failed).toBe(0)
  expect(observed({ status: 503, bare: true }, [503]).fault.failed).toBe(100)
})

test('a baseline that fails, is slow or incomplete says nothing about what comes after', () => {
  expect(unsteady(observed().baseline, 100)).toEqual([])
  expect(unsteady(observed({ status: 0 }).baseline, 100)).toEqual(['100 requests failed'])
  expect(unsteady(observed({ ms: 100 }).baseline, 100)).toEqual(['p99 is 100 ms'])
  expect(unsteady(observed().baseline, 200)).toEqual(['only 50 % of the load was answered'])
})

const expecting: Drill = { during: [], after: [], alerts: ['QuickLinkRedisDown'], mayRing: ['QuickLinkDbFallbackHigh'] } as unknown as Drill // prettier-ignore
const rung = (name: string, fromMs: number, toMs: number | undefined) => ({ name, severity: 'warning', fromMs, toMs })
const brokenBy = (...all: ReturnType<typeof rung>[]) =>
  judge(expecting, observed(), { rung: all }).checks.flatMap(({ claim, measured, ok }) =>
    ok ? [] : [[claim, measured]],
  )

test('what must ring rings and is over, its consequences may, and slow answers may always burn the budget', () => {
  const others = ['QuickLinkDbFallbackHigh', 'QuickLinkRedirectSloBurn'].map((name) => rung(name, 3000, undefined))
  expect(brokenBy(rung('QuickLinkRedisDown', 9000, 20_000), ...others)).toEqual([])
})

test('an alert that does not ring, or not in time, or does not end, is a broken promise', () => {
  expect(brokenBy()).toEqual([['QuickLinkRedisDown rings, after the fault', 'never']])
  expect(brokenBy(rung('QuickLinkRedisDown', 60_000, 40_000))).toEqual([['QuickLinkRedisDown rings, after the fault', '59 s']])
  expect(brokenBy(rung('QuickLinkRedisDown', 9000, undefined))).toEqual([['QuickLinkRedisDown is over, after it was steady again', 'never']])
  expect(brokenBy(rung('QuickLinkRedisDown', 9000, 50_000))).toEqual([['QuickLinkRedisDown is over, after it was steady again', '47 s']])
}) // prettier-ignore

test('an alert that nobody expects is a broken promise', () => {
  const expected = rung('QuickLinkRedisDown', 9000, 20_000)
  expect(brokenBy(expected, rung('QuickLinkDown', 1500, 3000))).toEqual([['other alerts that rang', 'QuickLinkDown']])
})

test('without a Prometheus, nothing is said of alerts', () => {
  expect(judge(expecting, observed()).checks.filter(({ claim }) => claim.includes('QuickLink'))).toEqual([])
})

test('less evidence is asked of a smaller load, but never none', () => {
  const seen: Promised = { what: 'seen', figure: () => 3, atLeast: 10, evidence: true }
  const judged = (share?: number) => judge(drillThat(seen), observed(), { evidence: share }).checks.find(({ claim }) => claim === 'seen') // prettier-ignore
  expect(judged()).toMatchObject({ ok: false, promised: '≥ 10' })
  expect(judged(0.3)).toMatchObject({ ok: true, promised: '≥ 3' })
  expect(judged(0.001)).toMatchObject({ promised: '≥ 1' })
})
