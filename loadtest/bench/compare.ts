// make bench-compare A=loadtest/results/….json B=loadtest/results/….json
import { readFileSync } from 'node:fs'
import { compare } from './comparison.ts'
import type { Result } from './results.ts'

const [a, b] = ['A', 'B'].map((name) => process.env[name])
if (!a || !b) {
  console.error('Say which two results: make bench-compare A=loadtest/results/….json B=loadtest/results/….json')
  process.exitCode = 2
} else {
  const [before, after] = [a, b].map((file) => JSON.parse(readFileSync(file, 'utf8')) as Result) as [Result, Result]
  console.log(compare(before, after))
}
