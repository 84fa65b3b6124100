// What is up, from the processes themselves, and what the server says about itself, if it answers.
import { type Places, type Say } from './paths.ts'
import { postgresVersion } from './postgres.ts'
import { runningPrometheus } from './prometheus.ts'
import { redisVersion } from './redis.ts'
import { fetchOps, runningServer } from './server.ts'

export async function status(places: Places, say: Say): Promise<void> {
  const server = runningServer(places)
  const [ready, statusz, postgres, redis] = await Promise.all([
    server && fetchOps(server, '/readyz'),
    server && fetchOps(server, '/statusz'),
    postgresVersion(places),
    redisVersion(places),
  ])
  const row = (name: string, up: boolean, text = ''): void => {
    say(`${name.padEnd(10)} ${(up ? 'up' : 'down').padEnd(5)} ${text}`.trimEnd())
  }
  row(
    'QuickLink',
    server !== undefined,
    server && `${server.url}  (pid ${server.pid}, ${ready?.ok ? 'ready' : 'not ready'})`,
  )
  row('Postgres', postgres !== undefined, postgres && `PostgreSQL ${postgres.version}  (127.0.0.1:${postgres.port})`)
  row('Redis', redis !== undefined, redis && `${redis.version}  (127.0.0.1:${redis.port})`)
  const prometheus = runningPrometheus(places)
  row('Prometheus', prometheus !== undefined, prometheus && `Prometheus ${prometheus.version}  (${prometheus.url})`)
  if (!server) return
  const summary = ready?.text && parsed(ready.text)
  if (summary) say(`\nreadyz     ${JSON.stringify(summary)}`)
  const details = statusz?.ok ? parsed(statusz.text) : undefined
  if (details) say(`statusz    ${JSON.stringify(details, null, 2)}`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
