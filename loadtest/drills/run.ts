// make drill NAME=redis-refused · NAME=redis-refused,stampede · make drills · make game-day
// ONLY=redis-slow,stampede make game-day · PAUSE_S=600: its longest pause
// SHORT=yes: shorter phases, and breakers that are tried again after 3 s
import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal, projectDir } from '../../embedded/paths.ts'
import { exitCodes, type Report, type Verdict } from '../report/report.ts'
import { writeReport } from '../report/write.ts'
import { drills } from './all.ts'
import { lockDrills } from './engine/alone.ts'
import type { Drill } from './engine/drill.ts'
import { live } from './engine/engine.ts'
import { lastReport, reportOf } from './engine/report.ts'
import { summarise } from './summary.ts'

const say = (line: string): void => console.log(line)
const short = process.env['SHORT'] === 'yes'

async function run(drill: Drill, tell: (line: string) => void): Promise<() => Report> {
  const lived = await live(drill, { short, sources: projectDir, say: tell })
  return () => {
    const report = reportOf(lived, lastReport(drill.name))
    conclude(report, lived.log)
    return report
  }
}

function conclude(report: Report, log: string): void {
  const broken = report.checks.filter(({ ok }) => !ok)
  say(`${report.verdict}  ${report.name}`)
  for (const { claim, promised, measured } of broken) say(`  broken: ${claim}: ${measured}, promised was ${promised}`)
  if (report.verdict === 'INCONCLUSIVE') for (const reason of report.reasons) say(`  ${reason}`)
  const folder = writeReport(report)
  say(`  ${folder}/report.html`)
  // For whoever looks into it.
  if (report.verdict !== 'PASS') writeFileSync(`${folder}/server.log`, log)
}

function sumUp(reports: readonly Report[], name: string): Verdict {
  const count = (verdict: Verdict): number => reports.filter((each) => each.verdict === verdict).length
  const summary = summarise(reports, name)
  const inconclusive = count('INCONCLUSIVE')
  say(`\n${writeReport(summary)}/report.html`)
  say(`${count('PASS')} passed, ${count('FAIL')} failed${inconclusive > 0 ? `, ${inconclusive} inconclusive` : ''}`)
  return summary.verdict
}

async function inOrder(chosen: readonly Drill[]): Promise<Verdict> {
  const reports: Report[] = []
  for (const drill of chosen) {
    say(`${chosen.length > 1 ? '\n' : ''}${drill.name}: ${drill.claim}`)
    reports.push((await run(drill, say))())
  }
  return chosen.length > 1 ? sumUp(reports, 'drills') : reports[0]!.verdict
}

/** In random order, after random pauses: those who watch find out what it is. They are told at the end. */
async function gameDay(): Promise<Verdict> {
  const longestPauseS = Number(process.env['PAUSE_S'] || 120)
  const chosen = chosenBy(process.env['ONLY'] || 'all')
  const order = chosen.map((drill) => ({ drill, at: Math.random() })).sort((a, b) => a.at - b.at)
  const tellings: (() => Report)[] = []
  for (const [n, { drill }] of order.entries()) {
    await pause(Math.random() * longestPauseS * 1000)
    say(`Drill ${n + 1} of ${order.length}`)
    tellings.push(
      await run(drill, (line) => say(line.replace(/^(Fault|Heal|Ended early): .*/, '$1: it is told at the end'))),
    )
  }
  return sumUp(
    tellings.map((tell) => tell()),
    'game-day',
  )
}

function chosenBy(names: string): Drill[] {
  if (names === 'all') return [...drills]
  return names.split(',').map((wanted) => {
    const drill = drills.find(({ name }) => name === wanted)
    const all = drills.map(({ name }) => name).join(', ')
    if (!drill) throw new Refusal(`Say which drill: NAME=… make drill. There are: ${all}.`)
    return drill
  })
}

try {
  const names = process.env['NAME'] ?? ''
  const work = names === 'game-day' ? gameDay : inOrder.bind(undefined, chosenBy(names))
  const unlock = lockDrills()
  try {
    process.exitCode = exitCodes[await work()]
  } finally {
    unlock()
  }
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error)
  process.exitCode = exitCodes.INCONCLUSIVE
}
