// For CI: does what visitors send still cost what it should, beside a bare node:http that answers the same requests? Ratios
// of CPU times of runs next to each other, so it does not matter what the machine is; a promise or a closure too many on
// the hot path shows, and so does a shape of request that takes the long way.
import { spreadOf } from '../measure/stats.ts'
import { loadLinks, openArena, warmRedis, type Arena } from './arena.ts'
import { checkAll, measure, startVisited, visits, type Subject, type Visit } from './subjects.ts'
import { shapes } from './visitors.ts'

const rounds = 5
const seconds = 1.2
/** On a busy machine a look-up may be late, which is a 503: where that is more than a few, a run is no measure. */
const mayFail = 0.001
/** Noise of a median of so many short rounds. */
const spare = 1.1

/** Proxies are measured, not guarded: theirs is not all the same everywhere. */
const guarded = shapes.filter(({ atMost }) => atMost !== undefined)

async function prepare(arena: Arena): Promise<Visit[]> {
  const links = 2000
  const first = await arena.quickLink({})
  await loadLinks(arena.stand, links)
  await first.stop()
  const servers = await startVisited(arena)
  await warmRedis(arena.stand, links)
  const all = await visits(arena, guarded, servers, await arena.peer('http'))
  await checkAll(all.flatMap(({ ours, http }) => [ours, http]))
  return all
}

async function cpuUs(arena: Arena, subject: Subject): Promise<number> {
  for (let tries = 1; ; tries++) {
    const { failed, requests, cpuUs: us } = await measure(arena, subject, seconds)
    if (failed <= requests * mayFail) return us
    const what = `${subject.what}: ${failed} of ${requests} requests failed`
    if (tries === 3) throw new Error(what)
    console.log(`again   ${what}`)
  }
}

/** Says how each came off, and returns those that cost too much. */
async function dear(arena: Arena, all: readonly Visit[]): Promise<Visit[]> {
  const ratios = new Map<Visit, number[]>(all.map((visit) => [visit, []]))
  for (let n = 0; n < rounds; n++) {
    for (const [{ ours, http }, seen] of ratios) seen.push((await cpuUs(arena, ours)) / (await cpuUs(arena, http)))
  }
  return [...ratios].flatMap(([visit, seen]) => {
    const { median, min, max } = spreadOf(seen)
    const { what, atMost = Infinity } = visit.shape
    const good = median <= atMost * spare
    const between = `${min.toFixed(2)} to ${max.toFixed(2)}`
    console.log(
      `${good ? 'good  ' : 'DEARER'}  ${median.toFixed(2)} of bare node:http (${between}), wanted ${atMost}: ${what}`,
    )
    return good ? [] : [visit]
  })
}

const arena = await openArena()
try {
  const all = await prepare(arena)
  for (const { ours, http } of all) for (const subject of [ours, http]) await measure(arena, subject, 0.5)
  let left = await dear(arena, all)
  if (left.length > 0) {
    console.log('Those once more, in case it was the machine:')
    left = await dear(arena, left)
  }
  console.log(`${all.length - left.length} passed, ${left.length} failed`)
  process.exitCode = left.length === 0 ? 0 : 1
} finally {
  await arena.close()
}
