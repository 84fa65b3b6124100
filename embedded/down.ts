// In reverse order, so that the server can still write what it holds. Data stays.
import { type Places, Refusal, type Say } from './paths.ts'
import { stopPostgres } from './postgres.ts'
import { stopPrometheus } from './prometheus.ts'
import { stopRedis } from './redis.ts'
import { stopServer } from './server.ts'

export async function down(places: Places, say: Say): Promise<void> {
  const parts = [
    ['Prometheus', stopPrometheus],
    ['QuickLink', stopServer],
    ['Redis', stopRedis],
    ['Postgres', stopPostgres],
  ] as const
  let stuck = false
  for (const [name, stop] of parts) {
    const result = await stop(places)
    stuck ||= result === 'does not stop'
    say(`${name.padEnd(10)} ${result}`)
  }
  if (stuck) throw new Refusal('Not everything stopped: look at the processes above.')
  say('The data stays. `make up` starts it again.')
}
