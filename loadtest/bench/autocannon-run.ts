// autocannon in a process of its own, so that its CPU time is not taken from whoever reads the clocks.
import autocannon from 'autocannon'
import type { Drive, Driven } from './generator.ts'

const drive = JSON.parse(process.argv[2] ?? '') as Omit<Drive, 'cores'>
const { paths, headers, body, status } = drive.load
const run = Date.now().toString(36)
let n = 0

function path(): string {
  if (paths.kind === 'one') return paths.path
  const which = paths.kind === 'uniform' ? Math.floor(Math.random() * paths.count) : `${run}-${++n}`
  return `/${paths.prefix}${which}`
}

const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
const request: autocannon.Request = {
  method: body === undefined ? 'GET' : 'POST',
  path: path(),
  headers: { ...Object.fromEntries(headers), ...type },
  ...(body === undefined ? {} : { body }),
  // One that never changes is put together once.
  ...(paths.kind === 'one' ? {} : { setupRequest: (request) => ({ ...request, path: path() }) }),
}

const result = await autocannon({
  url: drive.url,
  connections: drive.connections,
  duration: drive.seconds,
  requests: [request],
})
const statuses = (result as unknown as { statusCodeStats: Record<string, { count: number }> }).statusCodeStats
const answered = Object.values(statuses).reduce((sum, { count }) => sum + count, 0)
const driven: Driven = {
  requests: answered,
  seconds: result.duration,
  failed: result.errors + answered - (statuses[String(status)]?.count ?? 0),
  p50Ms: result.latency.p50,
  p99Ms: result.latency.p99,
  p999Ms: result.latency.p99_9,
}
console.log(JSON.stringify(driven))
