// What is asked of a QuickLink that runs: make status, make logs, make down.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { keeperDaemon, keeping, stopKeeper } from './keeper.ts'
import { type Places, Refusal, type Say, projectDir, shown } from './paths.ts'
import { postgresVersion, stopPostgres } from './postgres.ts'
import { runningAlertmanager, runningPrometheus, stopAlertmanager, stopPrometheus } from './monitoring.ts'
import { redisVersion, stopRedis } from './redis.ts'
import { fetchOps, runningServer, stopServer } from './server.ts'

/** What is up, from the processes themselves, and what the server says about itself, if it answers. */
export async function status(places: Places, say: Say): Promise<void> {
  const server = runningServer(places)
  const [ready, statusz, postgres, redis] = await Promise.all([
    server && fetchOps(server, '/readyz'),
    server && fetchOps(server, '/statusz'),
    postgresVersion(places),
    redisVersion(places),
  ])
  const row = (name: string, up: boolean, text = ''): void => {
    say(`${name.padEnd(12)} ${(up ? 'up' : 'down').padEnd(5)} ${text}`.trimEnd())
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
  const alertmanager = runningAlertmanager(places)
  row('Alertmanager', alertmanager !== undefined, alertmanager && `Alertmanager ${alertmanager.version}  (${alertmanager.url})`) // prettier-ignore
  const keeper = keeperDaemon(places).pid()
  const restarts = Object.entries(keeping(places)?.restarts ?? {}).map(([name, { count, lastAt, problem }]) =>
    problem === undefined
      ? `${name} started again ${count === 1 ? 'once' : `${count} times`}, last at ${lastAt}`
      : `${name} could not be started at ${lastAt}: ${problem}`,
  )
  row('Keeper', keeper !== undefined, restarts.join('; ') || 'starts again what dies')
  if (!server) return
  const summary = ready?.text && parsed(ready.text)
  if (summary) say(`\nreadyz       ${JSON.stringify(summary)}`)
  const details = statusz?.ok ? parsed(statusz.text) : undefined
  if (details) say(`statusz      ${JSON.stringify(details, null, 2)}`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Follows the log until Ctrl-C: readable on a terminal, JSON lines as they are for another program. */
export async function logs(places: Places): Promise<void> {
  // One that has just been rotated away is begun anew within a second: `tail -F` waits for it.
  const isThere = [places.logFile, `${places.logFile}.1`].some((file) => existsSync(file))
  if (!isThere) throw new Refusal(`There is no ${shown(places.logFile)} yet: run \`make up\`.`)
  const pretty = process.stdout.isTTY
  const tail = spawn('tail', ['-n', '200', '-F', places.logFile], {
    stdio: ['ignore', pretty ? 'pipe' : 'inherit', 'ignore'],
  })
  // The programs get Ctrl-C too; ending with them, quietly, is all there is to do.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => tail.kill())
  if (pretty) {
    const reader = spawn(join(projectDir, 'node_modules', '.bin', 'pino-pretty'), [], {
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    tail.stdout?.pipe(reader.stdin)
    reader.once('exit', () => tail.kill())
  }
  await new Promise((resolve) => tail.once('exit', resolve))
}

/** In reverse order, so that the server can still write what it holds. Data stays. */
export async function down(places: Places, say: Say): Promise<void> {
  const parts = [
    ['Keeper', stopKeeper],
    ['Prometheus', stopPrometheus],
    ['Alertmanager', stopAlertmanager],
    ['QuickLink', stopServer],
    ['Redis', stopRedis],
    ['Postgres', stopPostgres],
  ] as const
  let stuck = false
  for (const [name, stop] of parts) {
    const result = await stop(places)
    stuck ||= result === 'does not stop'
    say(`${name.padEnd(12)} ${result}`)
  }
  if (stuck) throw new Refusal('Not everything stopped: look at the processes above.')
  say('The data stays. `make up` starts it again.')
}
