// npm run picture -- loadtest/reports/…-redis-refused/report.json: its plot as loadtest/results/drill.svg, which README shows.
import { readFileSync, writeFileSync } from 'node:fs'
import { picture } from './plot.ts'
import type { Report } from './report.ts'

/** What tells the story without words; the rest is in the report. */
const shown = ['Latency from when each request was due', 'Who answered', 'Breakers and trust']

const [file] = process.argv.slice(2)
if (file === undefined) {
  console.error('Say of which drill: npm run picture -- loadtest/reports/…/report.json')
  process.exitCode = 2
} else {
  const { kind, verdict, charts, phases, marks, originS = 0 } = JSON.parse(readFileSync(file, 'utf8')) as Report
  const svg = picture({ charts: charts.filter(({ title }) => shown.includes(title)), phases, marks, originS })
  if (kind !== 'drill' || verdict !== 'PASS') console.error(`${file} is not of a drill that passed.`)
  writeFileSync(new URL('../results/drill.svg', import.meta.url), `${svg}\n`)
  console.log(`loadtest/results/drill.svg, ${Math.ceil(svg.length / 1024)} kB`)
}
