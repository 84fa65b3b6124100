// The compose files as they are, on a Docker engine that has (or can pull) the images: what the documents promise of the
// appliance, claim by claim, in this order. Everything is removed at the end.
//   npm run -s acceptance              all of it
//   QUICK=yes npm run -s acceptance    without making alerts ring
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { compose } from '../compose.ts'
import { firstStart, hasStarted } from './first-start.ts'
import { alertsEnd, alertsRing, isMonitored, queriesAnswer } from './monitoring.ts'
import { doctor, isLoaded, isTold, restarts, restores, upgrades } from './operation.ts'
import { isApart, isSafe, scan } from './safety.ts'
import { createLink, down, leftOver, removeAll, traffic } from './stand.ts'

const quick = Boolean(process.env['QUICK'])
const codes = ['first']

beforeAll(async () => {
  await down('-v')
  await scan()
  return removeAll
})

beforeEach(({ onTestFailed }) => {
  onTestFailed(async () => {
    const { text, errors } = await compose(['logs', '--no-color', '--tail', '30'])
    console.log(`\n${(await compose(['ps', '-a'])).text}\n${text}${errors}`)
  })
})

firstStart()

describe('once it has started', () => {
  // Nothing else can be said of what does not start.
  beforeEach(({ skip }) => skip(!hasStarted(), 'it did not start'))

  isSafe()
  isApart()
  isMonitored()
  isLoaded()

  describe('under traffic', () => {
    let visits: ReturnType<typeof traffic>
    beforeAll(async () => {
      while (codes.length < 200 && hasStarted()) codes.push(await createLink(`https://example.com/${codes.length}`))
      visits = traffic(codes, 10)
    })
    // Also where a test before the last one failed.
    afterAll(() => visits.end())

    if (!quick) alertsRing()
    // All ok means that Redis is in use again. More traffic from then on makes the ratio over 5 minutes fall sooner.
    doctor(() => visits.pace(100))
    queriesAnswer()
    if (!quick) alertsEnd()
    test('and all the while, no redirect failed', async () => expect(await visits.end()).toEqual([]))
  })

  restarts()
  isTold()
  restores()
  upgrades(codes)
  test('`down -v` leaves nothing', async () => {
    await down('-v')
    expect(await leftOver()).toEqual([])
  })
})
