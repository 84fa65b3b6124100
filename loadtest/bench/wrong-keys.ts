// What wrong keys do to the calls of those who have one: 12 connections that try random keys, AHEAD requests ahead each,
// beside 55 calls of a tenant at ten a second. One worker; the same twice, alone and attacked.
//   AHEAD=1 npm run bench:wrong-keys
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import { beside, told } from './beside.ts'
import { guess } from './guessers.ts'
import { openStand } from './stand.ts'

const everyMs = 100
const ahead = Number(process.env['AHEAD'] ?? 20)

await using stand = await openStand()
const { url, api } = await stand.startServer({ REDIS_URL: stand.redis.url })
await api('POST', '/tenants', { id: 'honest', name: 'Honest', tier: 'unlimited' })
const { key } = await api<{ key: string }>('POST', '/tenants/honest/keys', { name: 'bench' })
for (let n = 0; n < 20; n++) await api('POST', '/links', { url: `https://example.org/${n}` })
const headers = { Authorization: `Bearer ${key}` }
const honest = async (): Promise<string> =>
  told(await beside(pause(55 * everyMs), everyMs, () => ask(url, '/api/v1/links?limit=20', { headers })))
console.log(`12 connections, ${ahead} requests ahead each`)
console.log(`alone:    ${await honest()}`)
const guessers = guess(url, { connections: 12, ahead })
console.log(`attacked: ${await honest()}`)
console.log('guesses, by status:', await guessers.stop())
