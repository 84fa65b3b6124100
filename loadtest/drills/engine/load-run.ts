// The load of a drill: a schedule that no answer can delay. Request n is due at n ÷ rate, and its latency counts from
// then. A process of its own; it tells its parent every answer, and ends with it.
import { Agent, request } from 'node:http'
import { zipf } from '../../k6/lib/world.ts'
import { clockMs, type Answered, type LoadGroup, type LoadOrder } from './load.ts'
import { standardDestination } from './oracle.ts'

let order = JSON.parse(process.argv[2] ?? '') as LoadOrder
const { host, hostname, port } = new URL(order.url)
/** One agent takes the connection that was used last, so nearly all requests would come to the same worker. */
const agents = Array.from(
  { length: 16 },
  () => new Agent({ keepAlive: true, maxSockets: Math.ceil(order.connections / 16) }),
)
const tellEveryMs = 100

let told: Answered[] = []
let next = 0
let beganMs = clockMs()
/** Of each group by name: another load goes on with fresh codes where the one before ended. */
const drawn = new Map<string, number>()

function draw(): { group: LoadGroup; code: string; says: Readonly<Record<string, string>> } {
  let at = Math.random() * order.groups.reduce((sum, { share }) => sum + share, 0)
  const group = order.groups.find(({ share }) => (at -= share) < 0) ?? order.groups[0]!
  const turn = drawn.get(group.name) ?? 0
  drawn.set(group.name, turn + 1)
  const n =
    group.pick === 'fresh'
      ? turn % group.count
      : group.pick === 'zipf'
        ? zipf(Math.random(), group.count, 1)
        : Math.floor(Math.random() * group.count)
  const { visitors = [] } = group
  return { group, code: `${group.prefix}${n}`, says: visitors[n % visitors.length] ?? {} }
}

function ask(dueMs: number, agent: Agent): void {
  const { group, code, says } = draw()
  const sentMs = clockMs()
  const note = (status: number, location?: string, retryAfter?: string): void => {
    const usual = location === standardDestination(code)
    told.push({
      dueMs,
      lateMs: sentMs - dueMs,
      ms: clockMs() - dueMs,
      group: group.name,
      code,
      status,
      usual,
      ...(location === undefined || usual ? {} : { location }),
      ...(status === 503 && retryAfter === undefined ? { bare: true } : {}),
    })
  }
  const asked = request(
    { agent, hostname, port, path: `/${code}`, headers: { Host: host, ...says }, timeout: order.timeoutMs },
    (response) => {
      const { statusCode = 0, headers } = response
      response.resume().on('end', () => note(statusCode, headers.location, headers['retry-after']))
    },
  )
  asked.on('timeout', () => asked.destroy())
  asked.on('error', () => note(0))
  asked.end()
}

function turn(): void {
  // A rate of 0: nobody asks any more, and what was asked is still told.
  while (order.rate > 0) {
    const dueMs = beganMs + (next * 1000) / order.rate
    if (dueMs > clockMs()) break
    ask(dueMs, agents[next++ % agents.length] as Agent)
  }
  setTimeout(turn, 1)
}

setInterval(() => {
  process.send?.({ answers: told })
  told = []
}, tellEveryMs)
process.on('message', (message) => {
  order = { ...order, ...(message as Partial<LoadOrder>) }
  next = 0
  beganMs = clockMs()
})
process.on('disconnect', () => process.exit(0))
turn()
