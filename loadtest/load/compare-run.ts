import { compareReports, readReport } from './compare.ts'

const [a, b] = ['A', 'B'].map((name) => process.env[name])
if (!a || !b) {
  console.error('Say which two: make load-compare A=loadtest/reports/…/report.json B=loadtest/reports/…/report.json')
  process.exitCode = 2
} else {
  const [before, after] = [readReport(a), readReport(b)]
  if (before.name === after.name) {
    const { text, worse } = compareReports(before, after)
    console.log(text)
    process.exitCode = worse === 0 ? 0 : 1
  } else {
    console.error(`A is a report of ${before.name} and B one of ${after.name}: compare two of the same.`)
    process.exitCode = 2
  }
}
