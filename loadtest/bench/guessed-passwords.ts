// What guesses at a link's password do to the visitors of another link: 1,000 of them, from one address and from 100, beside
// a visitor every 10 ms. One worker; alone first.
//   npm run bench:guessed-passwords
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import { quantile } from '../measure/stats.ts'
import { openStand } from './stand.ts'

const guesses = 1000
const atOnce = 50
const ownerKey = `ql_${randomBytes(24).toString('base64url')}`

const stand = await openStand()
try {
  // The addresses are what a proxy says they are.
  const { url } = await stand.startServer({ REDIS_URL: stand.redis.url, OWNER_KEY: ownerKey, TRUST_PROXY: 'loopback' })
  const headers = { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json' }
  const make = (link: object) => ask(url, '/api/v1/links', { method: 'POST', headers, body: JSON.stringify(link) })
  await make({ code: 'plain', url: 'https://example.org/' })

  const visit = async (until: Promise<unknown>): Promise<string> => {
    const over = { yet: false }
    void until.then(() => (over.yet = true))
    const ms: number[] = []
    let redirects = 0
    while (!over.yet) {
      const beganMs = performance.now()
      const { status } = await ask(url, '/plain')
      ms.push(performance.now() - beganMs)
      if (status === 302) redirects++
      await pause(10)
    }
    const at = (share: number): string => `${quantile(ms, share).toFixed(1)} ms`
    return `${redirects} of ${ms.length} visitors were led on; p50 ${at(0.5)}, p99 ${at(0.99)}, worst ${at(1)}`
  }
  const guess = async (code: string, addresses: number): Promise<string> => {
    const statuses: Record<number, number> = {}
    const beganMs = performance.now()
    let next = 0
    const one = async (): Promise<void> => {
      for (let n = next++; n < guesses; n = next++) {
        const { status } = await ask(url, `/${code}`, {
          method: 'POST',
          body: `password=guess-${n}`,
          headers: {
            'X-Forwarded-For': `198.51.100.${n % addresses}`,
            'Content-Type': 'application/x-www-form-urlencoded',
          },
        })
        statuses[status] = (statuses[status] ?? 0) + 1
      }
    }
    await Promise.all(Array.from({ length: atOnce }, one))
    const took = ((performance.now() - beganMs) / 1000).toFixed(1)
    const answers = Object.entries(statuses).map(([status, times]) => `${times} × ${status}`)
    return `${guesses} guesses from ${addresses} in ${took} s: ${answers.join(', ')}`
  }

  await visit(pause(1000))
  console.log(`alone: ${await visit(pause(5000))}`)
  for (const addresses of [1, 100]) {
    await make({ code: `locked-${addresses}`, url: 'https://example.org/secret', password: 'correct horse' })
    const guessed = guess(`locked-${addresses}`, addresses)
    const visitors = await visit(guessed)
    console.log(await guessed)
    console.log(`  meanwhile: ${visitors}`)
  }
} finally {
  await stand.close()
}
