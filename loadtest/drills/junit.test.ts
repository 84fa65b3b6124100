import { expect, test } from 'vitest'
import { makeReport, type Report } from '../report/report.ts'
import { junit } from './junit.ts'

const report = (name: string, more: Partial<Parameters<typeof makeReport>[0]> = {}): Report =>
  makeReport({
    kind: 'drill',
    name,
    title: '',
    at: '2026-01-02T03:04:05.678Z',
    phases: [{ name: 'after', fromS: 0, toS: 41.5 }],
    checks: [
      { claim: 'p99 < 5 ms & "warm"', promised: '≤ 5 ms', measured: '3 ms', ok: true },
      { claim: 'wrong', promised: '0', measured: '2', ok: false },
    ],
    certain: ['wrong'],
    ...more,
  })

test('a suite for each drill, a case for each promise; who proves nothing is skipped with the reason', () => {
  const good = { claim: 'wrong', promised: '0', measured: '0', ok: true }
  const doubtful = report('b', { checks: [good], doubts: ['The machine was busy.\u0007'] })
  expect(junit([report('a'), doubtful])).toBe(`<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="a" timestamp="2026-01-02T03:04:05" time="41.5" tests="3" failures="1" errors="0" skipped="0">
    <testcase classname="drills.a" name="p99 &lt; 5 ms &amp; &quot;warm&quot;"></testcase>
    <testcase classname="drills.a" name="wrong"><failure message="2, promised was 0"/></testcase>
    <testcase classname="drills.a" name="it proves something"></testcase>
  </testsuite>
  <testsuite name="b" timestamp="2026-01-02T03:04:05" time="41.5" tests="2" failures="0" errors="0" skipped="1">
    <testcase classname="drills.b" name="wrong"></testcase>
    <testcase classname="drills.b" name="it proves something"><skipped message="The machine was busy. "/></testcase>
  </testsuite>
</testsuites>
`)
})
