// For CI: does what visitors send still cost what it should, beside a bare node:http that answers the same requests? Ratios
// of CPU times of runs next to each other; a promise or a closure too many on the hot path shows, and so does a shape of
// request that takes the long way. On a machine whose system calls cost more beside JavaScript than where the ratios were
// set, the bare socket itself comes closer to node:http: by so much, and no more, QuickLink may come closer, too.
import { command } from '../report/command.ts'
import { loadLinks, openArena, warmRedis, type Arena } from './arena.ts'
import { checkAll, measureAll, startVisited, visits, type Subject } from './subjects.ts'
import { floorOf, shapes, visitorRows, type Shape, type VisitorRow } from './visitors.ts'

const how = { repetitions: 5, seconds: 1.2, warmUpS: 0.5 }
/** On a busy machine a look-up may be late, which is a 503: where that is more than a few, a run is no measure. */
const mayFail = 0.001
/** What costs more does so each time; a machine that others use is busy now and then. */
const mostTries = 3
/** Noise of a median of so many short rounds; it was a tenth, which several rows reached on two shared cores without a cause that was found. */
const spare = 1.2
/** The bare socket ÷ node:http, on the machine where the wanted ratios were set. */
const floorThen = 0.56
const floorThenOfClose = 0.94

const allowed = ({ atMost = Infinity, toHttp, toNet, load }: VisitorRow): number =>
  atMost * spare + Math.max(0, toHttp / (toNet ?? NaN) - (load.closes ? floorThenOfClose : floorThen))

/** Proxies are measured, not guarded: theirs is not all the same everywhere. */
const guarded = shapes.filter(({ atMost }) => atMost !== undefined)

async function prepare(arena: Arena): Promise<Subject[]> {
  const links = 2000
  const first = await arena.quickLink({})
  await loadLinks(arena.stand, links)
  await first.stop()
  const servers = await startVisited(arena)
  await warmRedis(arena.stand, links)
  const all = await visits(arena, guarded, servers, {
    http: await arena.peer('http'),
    net: await arena.peer('net'),
    netClose: await arena.peer('netClose'),
  })
  await checkAll(all)
  return all
}

/** Says how each came off, and returns those that cost too much. */
async function dear(arena: Arena, all: readonly Subject[], some: readonly Shape[]): Promise<Shape[]> {
  const names = some.flatMap((shape) => [shape.name, floorOf('http', shape), floorOf('net', shape)])
  const chosen = all.filter(({ name }) => names.includes(name))
  const rows = visitorRows(await measureAll(arena, chosen, how, () => undefined))
  return rows.filter((row) => {
    const { what, toHttp, toNet = NaN, atMost = Infinity, requests, failed } = row
    const good = toHttp <= allowed(row) && failed <= requests * mayFail
    const failures = failed === 0 ? '' : ` (${failed} of ${requests} requests failed)`
    const floor = (toHttp / toNet).toFixed(2)
    const bounds = `wanted ${atMost}, dear from ${allowed(row).toFixed(2)}, a bare socket takes ${floor}`
    console.log(`${good ? 'good  ' : 'DEARER'}  ${toHttp.toFixed(2)} of bare node:http (${bounds}): ${what}${failures}`)
    return !good
  })
}

await command(async () => {
  await using arena = await openArena()
  const all = await prepare(arena)
  let left = await dear(arena, all, guarded)
  for (let tries = 1; left.length > 0 && tries < mostTries; tries++) {
    console.log('Those once more, in case it was the machine:')
    left = await dear(arena, all, left)
  }
  console.log(`${guarded.length - left.length} passed, ${left.length} failed`)
  return left.length === 0 ? 0 : 1
})
