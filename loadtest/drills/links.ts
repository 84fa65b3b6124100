// The links that drills ask for.
import { proven, type DrillGroup, type Promised, type DrillContext } from './engine/drill.ts'
import { clockMs } from './engine/load.ts'

/** A few popular ones: most requests find them in tier 1. */
export const hot: DrillGroup = { name: 'hot', share: 5, prefix: 'hot-', count: 100, pick: 'zipf' }

/** In Redis, and seldom in tier 1: several times as many as a process holds. */
export const warm: DrillGroup = { name: 'warm', share: 4, prefix: 'warm-', count: 6000, pick: 'uniform' }

/** In Postgres alone: each is asked for once. */
export const cold: DrillGroup = { name: 'cold', share: 1, prefix: 'cold-', count: 20_000, pick: 'fresh', cold: true }

/**
 * Disabled while something is amiss: nobody may be led there again. So many that tier 1, which has heard of it, cannot keep them all: who asks
 * for one of the others asks Redis.
 */
export const doomed: DrillGroup = { name: 'doomed', share: 5, prefix: 'doomed-', count: 1000, pick: 'uniform' }

export async function disableDoomed({ appliance, load, mark }: DrillContext): Promise<void> {
  const codes = Array.from({ length: doomed.count }, (_, n) => `${doomed.prefix}${n}`)
  // A visitor may be told 404 before we hear that it is done.
  const beganMs = clockMs()
  for (const code of codes) load.beside(code, beganMs, 404)
  const { status } = await appliance.api('PATCH', '/links/bulk', { codes, change: { enabled: false } })
  if (status !== 200) throw new Error(`disabling ${codes.length} links was answered ${status}`)
  const doneMs = clockMs()
  for (const code of codes) load.changed(code, doneMs, 404)
  mark(`${doomed.count} links are disabled`)
}

/** Otherwise their silence would prove nothing. */
export const doomedAreAsked: Promised = {
  what: 'requests for disabled links after Redis came back',
  figure: ({ recovery, after }) => recovery.of('doomed').answers.length + after.of('doomed').answers.length,
  atLeast: 200,
  evidence: true,
}

/** Asked for by the load alone, so that what Postgres counts of them can be held against it. */
export const counted: DrillGroup = { name: 'counted', share: 10, prefix: 'counted-', count: 50, pick: 'uniform', cold: true } // prettier-ignore

/** Once nobody asks any more; what a process has counted is on its way for a second or two. */
export async function countClicks({ appliance, load, note }: DrillContext): Promise<void> {
  const followed = load.answers.filter(({ group, status }) => group === counted.name && status === 302).length
  let lost = NaN
  const arrived = async (): Promise<boolean> => {
    const [row] = await appliance.sql.query<{ n: number }>(
      'select coalesce(sum(c.clicks), 0)::int as n from clicks c join links l on l.id = c.link_id where l.code like $1',
      [`${counted.prefix}%`],
    )
    lost = followed - (row?.n ?? NaN)
    return lost <= 0
  }
  await proven(arrived, 5000)
  note('lost clicks', lost)
}

export const noneLost: Promised = { what: 'clicks lost', figure: ({ noted }) => noted('lost clicks'), atMost: 0 }

/** A request whose answer did not arrive may have been counted. */
export const noClickTwice: Promised = {
  what: 'clicks in Postgres beyond the links that were followed, or may have been',
  figure({ noted, all }) {
    const unheard = all.of(counted.name).count(0)
    return Math.max(0, -noted('lost clicks') - unheard)
  },
  atMost: 0,
}
