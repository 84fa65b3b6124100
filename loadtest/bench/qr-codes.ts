// What QR codes do to the redirects beside them: a visitor every two milliseconds, and four connections that ask for the largest
// PNG with ever other parameters. One worker; the same twice, alone and beside them.
//   npm run bench:qr-codes
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import { beside, told } from './beside.ts'
import { openStand } from './stand.ts'

const connections = 4
/** Margins times levels, and all sizes that take about as long. */
const drawings = 40 * 4 * 500

await using stand = await openStand()
const { url, api } = await stand.startServer({ REDIS_URL: stand.redis.url })
await api('POST', '/links', { url: 'https://example.org/', code: 'spring' })
const agent = new Agent({ keepAlive: true })
const visitors = async (): Promise<string> => told(await beside(pause(5000), 2, () => ask(url, '/spring', { agent })))
await visitors()
console.log(`alone:            ${await visitors()}`)

let [asked, isOver] = [0, false]
const statuses: Record<number, number> = {}
const drawn = Array.from({ length: connections }, async () => {
  while (!isOver) {
    const n = asked++ % drawings
    const path = `/spring.png?size=${2000 - (Math.floor(n / 160) % 500)}&margin=${Math.floor(n / 4) % 40}&level=${'LMQH'[n % 4]!}`
    const { status } = await ask(url, path, { agent })
    statuses[status] = (statuses[status] ?? 0) + 1
  }
})
console.log(`beside QR codes:  ${await visitors()}`)
isOver = true
await Promise.all(drawn)
agent.destroy()
console.log('QR codes, by status:', statuses)
