// A run of drills as JUnit writes it, for CI: a suite for each drill, a case for each promise. Drills that prove nothing are
// skipped, and say why.
import type { Report } from '../report/report.ts'

/** XML has no place for most control characters, not even as entities. */
const escaped = (text: string): string =>
  Array.from(text, (letter) => (letter >= ' ' || letter === '\n' ? letter : ' '))
    .join('')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('"', '&quot;')

function suite({ name, verdict, checks, reasons, phases, at }: Report): string {
  const seconds = Math.max(0, ...phases.map(({ toS }) => toS))
  const failed = checks.filter(({ ok }) => !ok)
  const isInconclusive = verdict === 'INCONCLUSIVE'
  const testcase = (claim: string, outcome = ''): string =>
    `    <testcase classname="drills.${escaped(name)}" name="${escaped(claim)}">${outcome}</testcase>`
  const cases = checks.map(({ claim, promised, measured, ok }) =>
    testcase(claim, ok ? '' : `<failure message="${escaped(`${measured}, promised was ${promised}`)}"/>`),
  )
  const doubt = testcase(
    'it proves something',
    isInconclusive ? `<skipped message="${escaped(reasons.join(' '))}"/>` : '',
  )
  return [
    `  <testsuite name="${escaped(name)}" timestamp="${at.slice(0, 19)}" time="${seconds.toFixed(1)}" tests="${checks.length + 1}" failures="${failed.length}" errors="0" skipped="${isInconclusive ? 1 : 0}">`,
    ...cases,
    doubt,
    '  </testsuite>',
  ].join('\n')
}

export const junit = (reports: readonly Report[]): string =>
  ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites>', ...reports.map(suite), '</testsuites>', ''].join('\n')
