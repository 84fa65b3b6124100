// What QR codes do to the redirects beside them: a visitor every two milliseconds, and four connections that ask for the largest
// PNG with ever other parameters. One worker; the same twice, alone and beside them.
//   npm run bench:qr-codes
import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import { quantile } from '../measure/stats.ts'
import { openStand } from './stand.ts'

const visitors = 2500
const everyMs = 2
const connections = 4
/** Margins times levels, and all sizes that take about as long. */
const drawings = 40 * 4 * 500

async function visit(url: string): Promise<string> {
  const agent = new Agent({ keepAlive: true })
  const ms: number[] = []
  const under: Promise<void>[] = []
  let redirected = 0
  for (let n = 0; n < visitors; n++) {
    const one = async (): Promise<void> => {
      const beganMs = performance.now()
      const { status } = await ask(url, '/spring', { agent })
      if (status === 302) redirected++
      ms.push(performance.now() - beganMs)
    }
    under.push(one())
    await pause(everyMs)
  }
  await Promise.all(under)
  agent.destroy()
  const at = (share: number): string => `${quantile(ms, share).toFixed(1)} ms`
  return `${redirected} of ${visitors} redirected; p50 ${at(0.5)}, p99 ${at(0.99)}, p99.9 ${at(0.999)}`
}

function ask2000(url: string) {
  let stopped = false
  let asked = 0
  const statuses: Record<number, number> = {}
  const agent = new Agent({ keepAlive: true })
  const one = async (): Promise<void> => {
    while (!stopped) {
      const n = asked++ % drawings
      const path = `/spring.png?size=${2000 - (Math.floor(n / 160) % 500)}&margin=${Math.floor(n / 4) % 40}&level=${'LMQH'[n % 4]!}`
      const { status } = await ask(url, path, { agent })
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  const all = Array.from({ length: connections }, one)
  return {
    async stop() {
      stopped = true
      await Promise.all(all)
      agent.destroy()
      return statuses
    },
  }
}

const stand = await openStand()
try {
  const ownerKey = `ql_${randomBytes(24).toString('base64url')}`
  const { url } = await stand.startServer({ REDIS_URL: stand.redis.url, WORKERS: '1', OWNER_KEY: ownerKey })
  const headers = { Authorization: `Bearer ${ownerKey}`, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ url: 'https://example.org/', code: 'spring' })
  await fetch(`${url}/api/v1/links`, { method: 'POST', headers, body })
  await visit(url)
  console.log(`alone:            ${await visit(url)}`)
  const drawn = ask2000(url)
  console.log(`beside QR codes:  ${await visit(url)}`)
  console.log('QR codes, by status:', await drawn.stop())
} finally {
  await stand.close()
}
