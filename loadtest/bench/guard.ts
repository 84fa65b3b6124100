// For CI: does what visitors send still cost what it should, beside a bare node:http that answers the same requests? Ratios
// of CPU times of runs next to each other, so it does not matter what the machine is; a promise or a closure too many on
// the hot path shows, and so does a shape of request that takes the long way.
import { loadLinks, openArena, warmRedis, type Arena } from './arena.ts'
import { checkAll, measureAll, startVisited, visits, type Subject } from './subjects.ts'
import { floorOf, shapes, visitorRows, type Shape } from './visitors.ts'

const how = { repetitions: 5, seconds: 1.2, warmUpS: 0.5 }
/** On a busy machine a look-up may be late, which is a 503: where that is more than a few, a run is no measure. */
const mayFail = 0.001
/** Noise of a median of so many short rounds. */
const spare = 1.1

/** Proxies are measured, not guarded: theirs is not all the same everywhere. */
const guarded = shapes.filter(({ atMost }) => atMost !== undefined)

async function prepare(arena: Arena): Promise<Subject[]> {
  const links = 2000
  const first = await arena.quickLink({})
  await loadLinks(arena.stand, links)
  await first.stop()
  const servers = await startVisited(arena)
  await warmRedis(arena.stand, links)
  const all = await visits(arena, guarded, servers, { http: await arena.peer('http') })
  await checkAll(all)
  return all
}

/** Says how each came off, and returns those that cost too much. */
async function dear(arena: Arena, all: readonly Subject[], some: readonly Shape[]): Promise<Shape[]> {
  const names = some.flatMap((shape) => [shape.name, floorOf('http', shape)])
  const chosen = all.filter(({ name }) => names.includes(name))
  const rows = visitorRows(await measureAll(arena, chosen, how, () => undefined))
  return rows.filter(({ what, toHttp, atMost = Infinity, requests, failed }) => {
    const good = toHttp <= atMost * spare && failed <= requests * mayFail
    const failures = failed === 0 ? '' : ` (${failed} of ${requests} requests failed)`
    const word = good ? 'good  ' : 'DEARER'
    console.log(`${word}  ${toHttp.toFixed(2)} of bare node:http, wanted ${atMost}: ${what}${failures}`)
    return !good
  })
}

const arena = await openArena()
try {
  const all = await prepare(arena)
  let left = await dear(arena, all, guarded)
  if (left.length > 0) {
    console.log('Those once more, in case it was the machine:')
    left = await dear(arena, all, left)
  }
  console.log(`${guarded.length - left.length} passed, ${left.length} failed`)
  process.exitCode = left.length === 0 ? 0 : 1
} finally {
  await arena.close()
}
