// The machine of the Postgres that leads dies, and Patroni has the standby lead. What two drills share: one has a standby that has all
// that was acknowledged, the other one that was behind, so that what it had not got is lost.
import { setTimeout as pause } from 'node:timers/promises'
import { ask } from '../../embedded/ask.ts'
import { roundTripMs } from '../faults/probe.ts'
import type { PatroniGroup, Standby } from '../faults/patroni.ts'
import type { Bounds } from '../report/report.ts'
import type { Drill, DrillContext, DrillGroup, Promised } from './engine/drill.ts'
import type { Observed } from './engine/observed.ts'
import { cold as fresh, disableDoomed, doomed, hot, warm } from './links.ts'
import { bothDeadlinesMs, consequences, p99Below, trustedWithin } from './promises.ts'

/** Only a few: the others are what caches are for. */
const cold: DrillGroup = { ...fresh, share: 0.25 }
const hitsInAMonth = 200
const madeBefore = 100
const madeAfter = 20

const groupOf = ({ appliance }: DrillContext): PatroniGroup => {
  if (!appliance.patroni) throw new Error('this drill needs Patroni')
  return appliance.patroni
}

/** What one run has done and was answered. */
class Deeds {
  dead: Awaited<ReturnType<PatroniGroup['leader']>>
  limited = ''
  served = 0
  readonly made: { readonly code: string; readonly url: string }[] = []
  #tries = 0

  /** How many of them were acknowledged. */
  async make({ appliance }: DrillContext, count: number): Promise<number> {
    const links = Array.from({ length: count }, () => ({ url: `https://example.org/made/${this.#tries++}` }))
    const { status, text } = await appliance.api('POST', '/links/bulk', { links })
    if (status !== 200) return 0
    const { results } = JSON.parse(text) as { results: { status: number; link?: { code: string; url: string } }[] }
    const made = results.flatMap(({ link }) => link ?? [])
    this.made.push(...made)
    return made.length
  }

  async limit({ appliance }: DrillContext): Promise<void> {
    const { status, text } = await appliance.api('POST', '/links', { url: 'https://example.org/limited', monthlyHits: hitsInAMonth }) // prettier-ignore
    if (status !== 201) throw new Error(`a link with a limit was answered ${status}: ${text}`)
    this.limited = (JSON.parse(text) as { code: string }).code
  }

  /** Each on a connection of its own. */
  async follow({ appliance }: DrillContext, times: number): Promise<void> {
    for (let n = 0; n < times; n++) {
      const { status } = await ask(appliance.url, `/${this.limited}`, { timeoutMs: 5000 }).catch(() => ({ status: 0 }))
      if (status === 302) this.served++
    }
  }

  async account({ appliance, note }: DrillContext): Promise<void> {
    const rows = await appliance.sql.query<{ code: string; url: string }>(
      'select code, url from links where code = any($1)',
      [this.made.map(({ code }) => code)],
    )
    const led = new Map(rows.map(({ code, url }) => [code, url]))
    note('links made', this.made.length)
    note('codes given twice', this.made.length - new Set(this.made.map(({ code }) => code)).size)
    note('links lost', this.made.filter(({ code, url }) => led.get(code) !== url).length)
    note('hits served', this.served)
  }
}

const servedByCaches = ({ grewDuringFault }: Observed): number =>
  100 - (100 * grewDuringFault('quicklink_cache_miss_total')) / grewDuringFault('quicklink_redirects_total')

const firstCreate: Promised = {
  what: 'from the fault until a link could be made again',
  figure: ({ noted }) => noted('made again'),
  unit: 'ms',
  atMost: 60_000,
}

export function failover(standby: Standby, traits: Pick<Drill, 'name' | 'claim'> & { after: Promised[] }): Drill {
  let deeds = new Deeds()
  const isSynchronous = standby === 'synchronous'
  return {
    ...traits,
    settings: { patroni: standby, env: { HIT_QUOTA_UNGRANTABLE: 'reject' } },
    notInDocker: 'the compose files have no Patroni',
    load: { rate: 300, groups: [hot, warm, cold, ...(isSynchronous ? [doomed] : [])] },
    async prepare(context) {
      deeds = new Deeds()
      await deeds.limit(context)
      await deeds.follow(context, 20)
    },
    fault: {
      what: isSynchronous
        ? 'links are made and disabled, and the machine of the leader dies (kill -9 of Postgres and Patroni)'
        : 'the standby gets nothing any more, links are made, and the machine of the leader dies (kill -9 of Postgres and Patroni)',
      async inject(context) {
        const group = groupOf(context)
        deeds.dead = await group.leader()
        if (!isSynchronous) await group.cut()
        await deeds.make(context, madeBefore)
        await deeds.follow(context, 20)
        if (isSynchronous) await disableDoomed(context)
        // A second after it was answered, everybody has heard of it.
        await pause(1000)
        await deeds.dead?.kill()
      },
      landed: {
        what: 'a stranger is refused by who led',
        check: async () => (await roundTripMs('postgres', deeds.dead?.port ?? 0, 500)) === undefined,
      },
      // As long as Patroni's lease, and what comes after it.
      seconds: 25,
      fixed: true,
    },
    async meanwhile(context) {
      const diedMs = performance.now()
      for (let again = 0; again < madeAfter && performance.now() - diedMs < 90_000;) {
        const made = await deeds.make(context, 1)
        if (again === 0 && made > 0) context.note('made again', performance.now() - diedMs)
        again += made
        await deeds.follow(context, 1)
        await pause(100)
      }
    },
    during: [
      { what: 'redirects that caches answered meanwhile', figure: servedByCaches, unit: '%', atLeast: 95 },
      { what: 'redirects of links that no cache knows', figure: ({ fault }) => fault.of('cold').count(302), atLeast: 20, evidence: true }, // prettier-ignore
      firstCreate,
      p99Below('p99 of all links', ({ fault }) => fault, bothDeadlinesMs),
    ],
    heal: {
      what: 'the machine is there again, and follows who leads now',
      async undo(context) {
        await groupOf(context).mend()
        await deeds.dead?.start()
      },
      healed: {
        what: 'Patroni says that one leads and the other follows',
        check: async (context) => {
          await groupOf(context).whole()
          return true
        },
      },
    },
    async atEnd(context) {
      await deeds.follow(context, hitsInAMonth)
      await deeds.account(context)
    },
    after: [
      trustedWithin(3000),
      { what: 'links made', figure: ({ noted }) => noted('links made'), atLeast: madeBefore + madeAfter },
      { what: 'codes that were given to two links', figure: ({ noted }) => noted('codes given twice'), atMost: 0 },
      { what: `hits of a link with ${hitsInAMonth} a month`, figure: ({ noted }) => noted('hits served'), atMost: hitsInAMonth, atLeast: 40 }, // prettier-ignore
      ...traits.after,
    ],
    alerts: ['QuickLinkPostgresDown'],
    mayRing: [...consequences.postgres],
  }
}

/** Of those that were acknowledged. */
export const linksLost = (bounds: Bounds): Promised => ({
  what: 'acknowledged links that are lost',
  figure: ({ noted }) => noted('links lost'),
  ...bounds,
})
