// make drill NAME=redis-refused · NAME=redis-refused,stampede · make drills · make game-day
// ONLY=redis-slow,stampede make game-day · PAUSE_S=600: its longest pause
// FAULT_SECONDS=60: how long the fault lasts · RATE=100: requests a second
// MODE=docker: on the containers of the compose file, with alerts checked
// TARGET=compose:NAME or TARGET=embedded, with I_MAY_BREAK_THIS=yes: on a running appliance, a staging
// SHORT=yes: shorter phases, and breakers that are tried again after 3 s
// ANYHOW=yes: also on a machine that has other work; then INCONCLUSIVE at best
import { mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal, projectDir } from '../../embedded/paths.ts'
import { lastReport } from '../report/compare.ts'
import { exitCodes, type Report, type Verdict } from '../report/report.ts'
import { writeReport } from '../report/write.ts'
import { lockDrills } from './engine/safety.ts'
import { type Drill, rateOf, secondsOf } from './engine/drill.ts'
import type { DrillResult } from './engine/drill-run.ts'
import { runDrill } from './engine/engine.ts'
import { reportOf, threeFigures } from './engine/report.ts'
import { type Target, targetText } from './engine/target.ts'
import { junit } from './junit.ts'
import { type Order, orderIn } from './order.ts'
import { summarise } from './summary.ts'

const say = (line: string): void => console.log(line)

type Say = typeof say

async function run(drill: Drill, order: Order, tell: Say): Promise<() => Report> {
  if (order.target !== undefined) warn(drill, order, order.target)
  const result = await runDrill(drill, { ...order, sources: projectDir, say: tell })
  return () => conclude(result)
}

function warn(drill: Drill, order: Order, target: Target): void {
  say(
    `On ${targetText(target)}, which others may be using: ${rateOf(drill, order)} requests/s for links of the drill, which are removed`,
  )
  say(`again; and ${drill.fault.what}, for about ${secondsOf(drill, order)} s.`)
}

/** Its last line is the verdict. */
function conclude(result: DrillResult): Report {
  const report = reportOf(result, lastReport(result.name))
  const broken = report.checks.filter(({ ok }) => !ok)
  for (const { claim, promised, measured } of broken) say(`  broken: ${claim}: ${measured}, promised was ${promised}`)
  if (report.verdict === 'INCONCLUSIVE') for (const reason of report.reasons) say(`  ${reason}`)
  if (result.observed) say(`  ${threeFigures(result.observed)}`)
  for (const each of result.compressed) say(`  SHORT=yes: ${each}`)
  const folder = writeReport(report)
  say(`  ${folder}/report.html`)
  // For whoever looks into it.
  if (report.verdict !== 'PASS') writeFileSync(`${folder}/server.log`, result.log)
  say(`${report.verdict} ${report.name}`)
  return report
}

function sumUp(reports: readonly Report[], name: string): Verdict {
  const count = (verdict: Verdict): number => reports.filter((each) => each.verdict === verdict).length
  const summary = summarise(reports, name)
  const inconclusive = count('INCONCLUSIVE')
  say(`\n${writeReport(summary)}/report.html`)
  say(`${count('PASS')} passed, ${count('FAIL')} failed${inconclusive > 0 ? `, ${inconclusive} inconclusive` : ''}`)
  say(`${summary.verdict} ${name}`)
  return summary.verdict
}

async function inOrder(order: Order): Promise<Report[]> {
  const reports: Report[] = []
  for (const drill of order.chosen) {
    say(`${order.chosen.length > 1 ? '\n' : ''}${drill.name}: ${drill.claim}`)
    reports.push((await run(drill, order, say))())
  }
  return reports
}

/** In random order, after random pauses: those who watch find out what it is. They are told at the end. */
async function inDisguise(order: Order, longestPauseS: number): Promise<Report[]> {
  const shuffled = order.chosen.map((drill) => ({ drill, at: Math.random() })).sort((a, b) => a.at - b.at)
  const tellings: (() => Report)[] = []
  for (const [n, { drill }] of shuffled.entries()) {
    await pause(Math.random() * longestPauseS * 1000)
    say(`Drill ${n + 1} of ${shuffled.length}`)
    tellings.push(
      await run(drill, order, (line) =>
        say(line.replace(/^(Fault|Heal|Ended early): .*/, '$1: it is told at the end')),
      ),
    )
  }
  return tellings.map((tell) => tell())
}

/** For CI, always at the same place. */
function writeJunit(reports: readonly Report[]): void {
  const folder = new URL('../reports/', import.meta.url).pathname
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/junit.xml`, junit(reports))
}

async function main(order: Order): Promise<Verdict> {
  for (const reason of order.leftOut) say(`Left out: ${reason}`)
  const { gameDay } = order
  const reports = await (gameDay ? inDisguise(order, gameDay.longestPauseS) : inOrder(order))
  writeJunit(reports)
  if (gameDay) return sumUp(reports, 'game-day')
  return reports.length > 1 ? sumUp(reports, 'drills') : reports[0]!.verdict
}

// Whoever reads along may leave (`make drill | head`): as after Ctrl-C, everything is undone.
let left = false
for (const output of [process.stdout, process.stderr]) {
  output.on('error', () => {
    if (!left) process.kill(process.pid, 'SIGINT')
    left = true
  })
}
try {
  const order = orderIn(process.env)
  const unlock = lockDrills()
  try {
    process.exitCode = exitCodes[await main(order)]
  } finally {
    unlock()
  }
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error)
  process.exitCode = exitCodes.INCONCLUSIVE
}
