// What guesses at a link's password do to the visitors of another link: 1,000 of them, from one address and from 100, beside
// a visitor every 10 ms. One worker; alone first.
//   npm run bench:guessed-passwords
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import { beside, told } from './beside.ts'
import { openStand } from './stand.ts'

const guesses = 1000
const atOnce = 50

await using stand = await openStand()
// The addresses are what a proxy says they are.
const { url, api } = await stand.startServer({ REDIS_URL: stand.redis.url, TRUST_PROXY: 'loopback' })
await api('POST', '/links', { code: 'plain', url: 'https://example.org/' })

const visitors = async (until: Promise<unknown>): Promise<string> =>
  told(await beside(until, 10, () => ask(url, '/plain')))
const guess = async (code: string, addresses: number): Promise<string> => {
  const statuses: Record<number, number> = {}
  const beganMs = performance.now()
  let next = 0
  const one = async (): Promise<void> => {
    for (let n = next++; n < guesses; n = next++) {
      const from = { 'X-Forwarded-For': `198.51.100.${n % addresses}` }
      const headers = { ...from, 'Content-Type': 'application/x-www-form-urlencoded' }
      const { status } = await ask(url, `/${code}`, { method: 'POST', body: `password=guess-${n}`, headers })
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  const took = ((performance.now() - beganMs) / 1000).toFixed(1)
  const answers = Object.entries(statuses).map(([status, times]) => `${times} × ${status}`)
  return `${guesses} guesses from ${addresses} in ${took} s: ${answers.join(', ')}`
}

await visitors(pause(1000))
console.log(`alone: ${await visitors(pause(5000))}`)
for (const addresses of [1, 100]) {
  await api('POST', '/links', { code: `locked-${addresses}`, url: 'https://example.org/secret', password: 'correct horse' }) // prettier-ignore
  const guessed = guess(`locked-${addresses}`, addresses)
  const meanwhile = await visitors(guessed)
  console.log(`${await guessed}\n  meanwhile: ${meanwhile}`)
}
