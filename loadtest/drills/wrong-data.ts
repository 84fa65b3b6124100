import { singleKeys } from '../../server/redis-keys.ts'
import type { Code } from '../../server/link.ts'
import { waitFor } from '../../embedded/wait.ts'
import type { Drill, DrillGroup, DrillContext } from './engine/drill.ts'
import { clockMs, type Answered } from './engine/load.ts'
import { standardDestination } from './engine/oracle.ts'
import { hot } from './links.ts'

/** Few, so that the checker, which looks at two codes a second and process, comes by soon. */
const planted: DrillGroup = { name: 'planted', share: 3, prefix: 'planted-', count: 5, pick: 'uniform' }
const corrected: DrillGroup = { name: 'corrected', share: 3, prefix: 'corrected-', count: 5, pick: 'uniform' }

const plantedUrl = 'https://example.org/planted'
const correctedUrl = 'https://example.org/corrected'
const codesOf = ({ prefix, count }: DrillGroup): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`)
const keyOf = (code: string): string => singleKeys.link(code as Code)

/** As a bug or a hand at redis-cli would: another destination under the right version. */
async function plant({ appliance, load }: DrillContext): Promise<void> {
  for (const code of codesOf(planted)) {
    const held = JSON.parse(lastLine(await appliance.redis(`GET ${keyOf(code)}`))) as object
    // Tier 1 may know better for half a minute, while passes vouch for what it has.
    load.beside(code, clockMs(), plantedUrl)
    await appliance.redis(`SET ${keyOf(code)} ${JSON.stringify(JSON.stringify({ ...held, u: plantedUrl }))} KEEPTTL`)
  }
}

const lastLine = (reply = ''): string => reply.split('\r\n').at(-1) ?? ''

/** A destination is corrected in psql, past every API of QuickLink. */
async function correct({ appliance, load, mark }: DrillContext): Promise<void> {
  await appliance.sql.query('update links set url = $1 where code = any ($2)', [correctedUrl, codesOf(corrected)])
  for (const code of codesOf(corrected)) load.changed(code, clockMs(), correctedUrl)
  mark('destinations are corrected in Postgres, by hand')
}

async function found({ appliance, note, mark }: DrillContext): Promise<void> {
  const beganMs = clockMs()
  const finds = async (): Promise<boolean> =>
    (await appliance.metrics()).some(({ name, value }) => name === 'quicklink_stale_answers_found_total' && value > 0)
  const inTime = await waitFor(finds, { deadlineMs: 15_000, everyMs: 200 }).catch(() => false)
  note('found after', inTime ? clockMs() - beganMs : NaN)
  mark(inTime ? 'the checker has found a planted value' : 'the checker has found nothing')
}

/** The manual fix, for each code. */
async function invalidate({ appliance, load }: DrillContext): Promise<void> {
  for (const code of codesOf(planted)) {
    const { status } = await appliance.api('POST', '/cache/invalidate', { code })
    if (status !== 200) throw new Error(`invalidating ${code} was answered ${status}`)
    load.changed(code, clockMs(), standardDestination(code))
  }
}

const showed = (url: string, answers: readonly Answered[]): number =>
  answers.filter(({ location }) => location === url).length

export const wrongData: Drill = {
  name: 'wrong-data',
  claim:
    'Wrong values are planted in Redis: the checker finds them, and an invalidation mends each within a second. Destinations are corrected by hand in Postgres: all see it within a second.',
  load: { rate: 200, groups: [{ ...hot, count: 5, pick: 'uniform' }, planted, corrected] },
  fault: {
    what: 'values with another destination under the right version are planted in Redis',
    inject: plant,
    landed: {
      what: 'an answer of QuickLink leads to a planted destination',
      check: ({ load }) => showed(plantedUrl, load.answers) > 0,
    },
    seconds: 4,
  },
  async meanwhile(context) {
    await correct(context)
    await found(context)
  },
  during: [
    { what: 'the checker finds one', figure: ({ noted }) => noted('found after'), unit: 'ms', atMost: 15_000 },
    { what: 'redirects to a corrected destination', figure: ({ fault }) => showed(correctedUrl, fault.answers), atLeast: 50, evidence: true },
  ],
  heal: {
    what: 'POST /cache/invalidate for each planted code',
    undo: invalidate,
    healed: {
      what: 'Redis holds the right destination of each',
      async check({ appliance }) {
        const held = await Promise.all(codesOf(planted).map((code) => appliance.redis(`GET ${keyOf(code)}`)))
        return held.every((value) => value !== undefined && !value.includes(plantedUrl))
      },
    },
  },
  after: [
    {
      what: 'redirects to a planted destination a second after the invalidation',
      figure: ({ after, moments }) =>
        showed(plantedUrl, after.answers.filter(({ dueMs }) => dueMs > moments.healedMs + 1000)),
      atMost: 0,
    },
  ],
  alerts: [],
  mayRing: ['QuickLinkStaleAnswers'],
} // prettier-ignore
