// What wrong keys do to the calls of those who have one: 12 connections that try random keys, AHEAD requests ahead each,
// beside 55 calls of a tenant at ten a second. One worker; the same twice, alone and attacked.
//   AHEAD=1 npm run bench:wrong-keys
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { guess } from './guessers.ts'
import { quantile } from '../measure/stats.ts'
import { openStand } from './stand.ts'

const calls = 55
const everyMs = 100
const ahead = Number(process.env['AHEAD'] ?? 20)

async function honest(url: string, key: string): Promise<string> {
  const ms: number[] = []
  const statuses: Record<number, number> = {}
  const under: Promise<void>[] = []
  for (let n = 0; n < calls; n++) {
    const call = async (): Promise<void> => {
      const beganMs = performance.now()
      const answer = await fetch(`${url}/api/v1/links?limit=20`, { headers: { Authorization: `Bearer ${key}` } })
      await answer.arrayBuffer()
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      ms.push(performance.now() - beganMs)
    }
    under.push(call())
    await pause(everyMs)
  }
  await Promise.all(under)
  const at = (share: number): string => `${quantile(ms, share).toFixed(0)} ms`
  return `${statuses[200] ?? 0} of ${calls} answered 200; p50 ${at(0.5)}, p99 ${at(0.99)}`
}

const stand = await openStand()
try {
  const ownerKey = `ql_${randomBytes(24).toString('base64url')}`
  const { url } = await stand.startServer({ REDIS_URL: stand.redis.url, WORKERS: '1', OWNER_KEY: ownerKey })
  const post = async (path: string, body: object): Promise<{ key?: string }> => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    return (await answer.json()) as { key?: string }
  }
  await post('/tenants', { id: 'honest', name: 'Honest', tier: 'unlimited' })
  const { key = '' } = await post('/tenants/honest/keys', { name: 'bench' })
  for (let n = 0; n < 20; n++) await post('/links', { url: `https://example.org/${n}` })
  console.log(`12 connections, ${ahead} requests ahead each`)
  console.log(`alone:    ${await honest(url, key)}`)
  const guessers = guess(url, { connections: 12, ahead })
  console.log(`attacked: ${await honest(url, key)}`)
  console.log('guesses, by status:', await guessers.stop())
} finally {
  await stand.close()
}
