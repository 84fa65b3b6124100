// The compose files as they are, on a Docker engine that has (or can pull) the images: what the README promises of the
// appliance, step by step. Everything is removed at the end.
//   node appliance/acceptance/main.ts          all of it, about 10 minutes, most of them waiting for alerts
//   node appliance/acceptance/main.ts quick    without making alerts ring
import { compose } from '../compose.ts'
import { firstStart } from './first-start.ts'
import { load } from './load.ts'
import { isLoaded } from './loading.ts'
import { alertsEnd, alertsRing, isMonitored, queriesAnswer } from './monitoring.ts'
import { doctor, restarts } from './operation.ts'
import { upgrades } from './replicas.ts'
import { isApart } from './reach.ts'
import { restores } from './restoring.ts'
import { isSafe, scan } from './safety.ts'
import { createLink, down, leftOver, removeAll } from './stand.ts'
import { check, counts, step } from './steps.ts'

const quick = process.argv[2] === 'quick'

async function underTraffic(codes: readonly string[]): Promise<void> {
  const traffic = load(codes, 10)
  if (!quick) await alertsRing()
  // All ok means that Redis is in use again. More traffic from then on makes the ratio over 5 minutes fall sooner.
  await doctor()
  traffic.pace(100)
  await queriesAnswer()
  if (!quick) await alertsEnd()
  await step('and all the while, no redirect failed', () => traffic.allRedirected())
}

async function all(): Promise<void> {
  await down('-v')
  const before = await scan()
  await firstStart()
  // Nothing else can be said of what does not start.
  if (counts.failed > 0) return
  await isSafe(before)
  await isApart()
  await isMonitored()
  await isLoaded()
  const codes = ['first']
  while (codes.length < 200) codes.push(await createLink(`https://example.com/${codes.length}`))
  await underTraffic(codes)
  await restarts()
  await restores()
  await upgrades(codes)
  await step('`down -v` leaves nothing', async () => {
    await down('-v')
    const left = await leftOver()
    check(left.length === 0, `left: ${left.join(', ')}`)
    return undefined
  })
}

try {
  await all()
} catch (error) {
  counts.failed++
  console.log(`FAILED  ${(error as Error).stack ?? String(error)}`)
} finally {
  if (counts.failed > 0) {
    const { text, errors } = await compose(['logs', '--no-color', '--tail', '30'])
    console.log(`\n${(await compose(['ps', '-a'])).text}\n${text}${errors}`)
  }
  await removeAll()
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed`)
process.exit(counts.failed === 0 ? 0 : 1)
