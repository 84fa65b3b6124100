// make drills-can-fail: a drill that cannot fail proves nothing. Each is run against a QuickLink whose promise is broken
// on purpose (broken.ts), and must say FAIL and name the check.   NAME=stampede,hot-key: only these
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refusal, projectDir } from '../../embedded/paths.ts'
import type { Report } from '../report/report.ts'
import { drills } from './all.ts'
import { broken, type Broken } from './broken.ts'
import { lockDrills } from './engine/safety.ts'
import { runDrill } from './engine/engine.ts'
import { reportOf } from './engine/report.ts'
import { orderIn } from './order.ts'

/** A copy of the sources in which one line is another. */
function patched({ file, from, to }: NonNullable<Broken['patch']>): string {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-broken-'))
  cpSync(join(projectDir, 'server'), join(dir, 'server'), { recursive: true })
  cpSync(join(projectDir, 'package.json'), join(dir, 'package.json'))
  symlinkSync(join(projectDir, 'node_modules'), join(dir, 'node_modules'))
  const path = join(dir, 'server', file)
  const text = readFileSync(path, 'utf8')
  if (!text.includes(from)) throw new Error(`server/${file} does not contain "${from}" any more: mend broken.ts.`)
  writeFileSync(path, text.replace(from, to))
  return dir
}

async function run(each: Broken): Promise<Report> {
  const drill = drills.find(({ name }) => name === each.drill)
  if (!drill) throw new Error(`There is no drill ${each.drill}: mend broken.ts.`)
  const sources = each.patch ? patched(each.patch) : projectDir
  const { env = {}, redis = [] } = each
  try {
    return reportOf(
      await runDrill(drill, { short: true, mode: 'embedded', sources, env, redis, say: () => undefined }),
      undefined,
    )
  } finally {
    if (sources !== projectDir) rmSync(sources, { recursive: true, force: true })
  }
}

/** All of them, or those of NAME that can be run here. */
function choose(): readonly Broken[] {
  const names = process.env['NAME'] || 'all'
  const { chosen, leftOut } = orderIn({ NAME: names })
  for (const reason of leftOut) console.log(`Left out: ${reason}`)
  return broken.filter(({ drill }) => chosen.some(({ name }) => name === drill))
}

const chosen = ((): readonly Broken[] => {
  try {
    return choose()
  } catch (error) {
    console.error(error instanceof Refusal ? error.message : error)
    return process.exit(2)
  }
})()
const unlock = lockDrills()
let missed = 0
try {
  for (const each of chosen) {
    const { verdict, checks, reasons } = await run(each)
    const named = checks.find(({ claim, ok }) => !ok && each.named.test(claim))
    const good = verdict === 'FAIL' && named !== undefined
    if (!good) missed++
    console.log(`${good ? 'ok    ' : 'NOT OK'} ${each.drill}, ${each.how}: ${verdict}`)
    console.log(
      `       ${named ? `${named.claim}: ${named.measured}, promised was ${named.promised}` : reasons.join(' ')}`,
    )
  }
} finally {
  unlock()
}
console.log(`\n${chosen.length - missed} drills fail as they should, ${missed} do not`)
process.exitCode = missed === 0 ? 0 : 1
