// Which links are hot, from the clicks that have just been counted: `ql:v1:hot:{code}` for all processes, `ql:v1:meta:{code}`
// for whoever looks at a link's figures, and for this process the lives that the seed's matrix gives to hot links. All of
// it is best effort, bounded, and off the redirect's path.
import { readFileSync } from 'node:fs'
import type { RedisConnection } from '../connections/redis.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Code } from '../link.ts'
import type { Spooled } from './batch.ts'
import { matrixLifeS } from './lives.ts'

export interface Popularity {
  note(batches: readonly Spooled[]): void
  /** Hottest first. */
  hot(): Code[]
  /** Seconds that a hot link lives in Redis by the matrix; undefined: it is not known to be hot. */
  lifeS(code: Code): number | undefined
  stop(): Promise<void>
}

interface PopularityOptions {
  readonly sql: Sql
  readonly redis: Pick<RedisConnection, 'script'>
  readonly ask: <T>(work: () => Promise<T>) => Promise<T>
  readonly everyMs: number
  /** Links in a round, at most. */
  readonly maxLinks: number
  /** Clicks in a round that make a link hot. */
  readonly minClicks: number
  readonly metaTtlS: number
  readonly hotTtlS: number
  readonly ttlJitter: number
  readonly random?: () => number
}

interface LinkFacts {
  readonly id: number
  readonly code: Code
  readonly expires: number | null
  readonly status: 'active' | 'disabled' | 'expired'
  /** Seconds since its last change; null: it is as it was created. */
  readonly changed: number | null
}

interface Hot extends LinkFacts {
  readonly clicks: number
  perMinute: number
}

const factsSql = `
select id, code, floor(extract(epoch from expires_at))::bigint as expires,
  case when not enabled then 'disabled' when expires_at <= now() then 'expired' else 'active' end as status,
  case when updated_at > created_at then extract(epoch from now() - updated_at)::float8 end as changed
from links where id = any($1) and deleted_at is null`

const totalsSql = `
select l.code, (select coalesce(sum(c.clicks), 0)::bigint from clicks c where c.link_id = l.id) as clicks
from links l where l.id = any($1)`

/** A link that was not hot for so many rounds is forgotten. */
const keptRounds = 6

export function startPopularity(options: PopularityOptions): Popularity {
  const { sql, redis, ask } = options
  const random = options.random ?? Math.random
  const notePopular = redis.script('qlNotePopular', readFileSync(new URL('note_popular.lua', import.meta.url), 'utf8'))
  const setEach = redis.script('qlSetEach', `for i, key in ipairs(KEYS) do redis.call('SET', key, ARGV[2 * i - 1], 'PX', ARGV[2 * i]) end`) // prettier-ignore
  const known = new Map<Code, Hot & { round: number }>()
  let counts = new Map<number, number>()
  let round = 0
  let running = Promise.resolve()

  const lifeMs = (ttlS: number): number => Math.round(ttlS * 1000 * (1 + (2 * random() - 1) * options.ttlJitter))

  const hottest = async (counted: ReadonlyMap<number, number>): Promise<Hot[]> => {
    const top = [...counted]
      .filter(([, clicks]) => clicks >= options.minClicks)
      .sort(([, a], [, b]) => b - a)
      .slice(0, options.maxLinks)
    if (top.length === 0) return []
    const facts = await sql.query<LinkFacts>(factsSql, [top.map(([id]) => id)], 'ql-link-facts')
    return facts.map((link) => ({ ...link, clicks: counted.get(link.id) ?? 0, perMinute: 0 }))
  }

  const tell = async (links: readonly Hot[]): Promise<Hot[]> => {
    const keys = links.flatMap(({ code }) => [`ql:v1:hot:${code}`, `ql:v1:meta:${code}`])
    const args = [Math.floor(Date.now() / 1000), lifeMs(options.hotTtlS), ...links.map(({ clicks }) => clicks)]
    const answers = (await ask(() => notePopular(keys, args))) as [number, number][]
    links.forEach((link, i) => (link.perMinute = answers[i]?.[0] ?? 0))
    return links.filter((_, i) => answers[i]?.[1] !== 1)
  }

  const describe = async (links: readonly Hot[]): Promise<void> => {
    if (links.length === 0) return
    const totals = await sql.query<{ code: Code; clicks: number }>(
      totalsSql,
      [links.map(({ id }) => id)],
      'ql-click-totals',
    )
    const clicksOf = new Map(totals.map(({ code, clicks }) => [code, clicks]))
    const values = links.flatMap(({ code, expires, status }) => [
      JSON.stringify({ c: clicksOf.get(code) ?? 0, ...(expires === null ? {} : { e: expires }), s: status }),
      lifeMs(options.metaTtlS),
    ])
    await ask(() =>
      setEach(
        links.map(({ code }) => `ql:v1:meta:${code}`),
        values,
      ),
    )
  }

  const run = async (): Promise<void> => {
    const counted = counts
    counts = new Map()
    round++
    for (const [code, { round: seen }] of known) if (round - seen > keptRounds) known.delete(code)
    const links = await hottest(counted)
    if (links.length === 0) return
    const without = await tell(links)
    for (const link of links) known.set(link.code, { ...link, round })
    await describe(without)
  }

  const timer = setInterval(() => {
    running = run().catch(() => undefined)
  }, options.everyMs)
  timer.unref()

  return {
    note(batches) {
      for (const { rows } of batches) {
        for (const [linkId, clicks] of rows) counts.set(linkId, (counts.get(linkId) ?? 0) + clicks)
      }
    },
    hot: () => [...known.values()].sort((a, b) => b.perMinute - a.perMinute).map(({ code }) => code),
    lifeS(code) {
      const link = known.get(code)
      return link && matrixLifeS(link.perMinute, link.changed)
    },
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
