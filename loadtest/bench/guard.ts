// For CI: is a tier-1 hit by the front door still cheaper than bare node:http? A ratio of CPU times within one run, so it
// does not matter what the machine is; a promise or a closure too many on the hot path shows.
import { hot, loadLinks, openArena, trusted } from './arena.ts'
import { spreadOf } from '../measure/stats.ts'
import { checkAnswers, measure, type Subject } from './subjects.ts'

const most = 0.95
const seconds = 2
const repetitions = 3

const arena = await openArena()
try {
  const { stand } = arena
  const first = await arena.quickLink({})
  await loadLinks(stand, 1000)
  await first.stop()
  const server = await arena.quickLink({ REDIS_URL: stand.redis.url })
  await trusted(server)
  const raw: Subject = { name: 'raw', what: 'tier-1 hit, front door', server, load: hot }
  const bare: Subject = { name: 'http', what: 'bare node:http', server: await arena.peer('http'), load: hot }
  await checkAnswers([raw, bare])

  const ratio = async (): Promise<number> => {
    const ratios: number[] = []
    for (let n = 0; n < repetitions; n++) {
      const [ours, theirs] = [await measure(arena, raw, seconds), await measure(arena, bare, seconds)]
      if (ours.failed > 0) throw new Error(`${ours.failed} of ${ours.requests} requests failed`)
      ratios.push(ours.cpuUs / theirs.cpuUs)
      console.log(
        `${ours.cpuUs.toFixed(2)} ÷ ${theirs.cpuUs.toFixed(2)} µs of CPU = ${(ours.cpuUs / theirs.cpuUs).toFixed(2)}`,
      )
    }
    return spreadOf(ratios).median
  }
  for (const subject of [raw, bare]) await measure(arena, subject, 1)
  let figure = await ratio()
  if (figure > most) {
    console.log('Too much; once more, in case it was the machine.')
    figure = await ratio()
  }
  const good = figure <= most
  console.log(`A tier-1 hit ÷ bare node:http: ${figure.toFixed(2)}, at most ${most}: ${good ? 'good' : 'FAILED'}`)
  process.exitCode = good ? 0 : 1
} finally {
  await arena.close()
}
