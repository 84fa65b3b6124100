// make drill NAME=redis-refused · NAME=redis-refused,stampede · make drills · make game-day
// ONLY=redis-slow,stampede make game-day · PAUSE_S=600: its longest pause
// MODE=docker: on the containers of the compose file, with alerts checked
// TARGET=compose:NAME I_MAY_BREAK_THIS=yes: on a running appliance of Docker, a staging
// SHORT=yes: shorter phases, and breakers that are tried again after 3 s
// ANYHOW=yes: also on a machine that has other work; then INCONCLUSIVE at best
import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { Refusal, projectDir } from '../../embedded/paths.ts'
import { lastReport } from '../report/compare.ts'
import { exitCodes, type Report, type Verdict } from '../report/report.ts'
import { writeReport } from '../report/write.ts'
import { drills } from './all.ts'
import { lockDrills } from './engine/safety.ts'
import { type Drill, type Mode, secondsOf } from './engine/drill.ts'
import { runDrill } from './engine/engine.ts'
import { reportOf } from './engine/report.ts'
import { obstacleOnTarget, targetOf } from './engine/target.ts'
import { summarise } from './summary.ts'

const say = (line: string): void => console.log(line)
const short = process.env['SHORT'] === 'yes'
const anyhow = process.env['ANYHOW'] === 'yes'

async function run(drill: Drill, tell: (line: string) => void): Promise<() => Report> {
  const target = targetOf(process.env)
  if (target !== undefined) warn(target, drill)
  const result = await runDrill(drill, { short, anyhow, mode: modeOf(), target, sources: projectDir, say: tell })
  return () => {
    const report = reportOf(result, lastReport(result.name))
    conclude(report, result.log)
    return report
  }
}

function warn(target: string, drill: Drill): void {
  say(
    `On ${target}, which others may be using: ${drill.load.rate} requests/s for links of the drill, which are removed`,
  )
  say(`again; and ${drill.fault.what}, for about ${secondsOf(drill, { short })} s.`)
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

function modeOf(): Mode {
  if (targetOf(process.env) !== undefined) return 'target'
  const word = process.env['MODE'] || 'embedded'
  if (word === 'docker' || word === 'embedded') return word
  throw new Refusal(`MODE is ${word}, but must be docker or embedded.`)
}

/** Why it cannot be run there. */
function obstacle(drill: Drill): string | undefined {
  const mode = modeOf()
  if (mode === 'target') return obstacleOnTarget(drill)
  return mode === 'docker' && drill.settings?.sentinels
    ? `${drill.name} cannot run in Docker, because the compose file has one Redis and no Sentinels: MODE=embedded runs it.`
    : undefined
}

function chosenBy(names: string): Drill[] {
  if (names === 'all') {
    const possible = drills.filter((drill) => obstacle(drill) === undefined)
    for (const drill of drills) if (!possible.includes(drill)) say(obstacle(drill) as string)
    return possible
  }
  return names.split(',').map((wanted) => {
    const drill = drills.find(({ name }) => name === wanted)
    const all = drills.map(({ name }) => name).join(', ')
    if (!drill) throw new Refusal(`Say which drill: NAME=… make drill. There are: ${all}.`)
    const why = obstacle(drill)
    if (why !== undefined) throw new Refusal(why)
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
