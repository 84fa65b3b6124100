// make drill NAME=redis-refused
import { Refusal, projectDir } from '../../embedded/paths.ts'
import { lockDrills } from './engine/alone.ts'
import type { Drill } from './engine/drill.ts'
import { live } from './engine/engine.ts'
import { trim } from './engine/judge.ts'
import { runnerWord } from './engine/safety.ts'
import { redisRefused } from './redis-refused.ts'

const drills: readonly Drill[] = [redisRefused]
const say = (line: string): void => console.log(line)
const exitCodes = { PASS: 0, FAIL: 1, INCONCLUSIVE: 2 } as const

try {
  const drill = drills.find(({ name }) => name === process.env['NAME'])
  if (!drill) throw new Refusal(`NAME must be one of: ${drills.map(({ name }) => name).join(', ')}.`)
  const unlock = lockDrills(runnerWord)
  const lived = await live(drill, { short: process.env['SHORT'] === 'yes', sources: projectDir, say })
  unlock()
  for (const { atMs, what } of lived.marks) say(`${((atMs - lived.marks[0]!.atMs) / 1000).toFixed(2)} ${what}`)
  for (const j of lived.judged)
    say(
      `${j.kept === null ? '?' : j.kept ? 'ok' : 'NOT'} ${j.what}: ${j.figure === null ? '-' : trim(j.figure)} ${j.unit} (${j.promised})`,
    )
  say(`${lived.verdict} ${lived.doubts.join(' ')}`)
  process.exitCode = exitCodes[lived.verdict]
} catch (error) {
  console.error(error instanceof Refusal ? error.message : error)
  process.exitCode = 2
}
