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
select l.code, t.clicks from links l join click_totals t on t.link_id = l.id where l.id = any($1)`

/** A link that was not hot for so many rounds is forgotten. */
const keptRounds = 6

type Script = ReturnType<RedisConnection['script']>

const setEachLua = `
for i, key in ipairs(KEYS) do redis.call('SET', key, ARGV[2 * i - 1], 'PX', ARGV[2 * i]) end`

export function startPopularity(options: PopularityOptions): Popularity {
  return new Rounds(options)
}

class Rounds implements Popularity {
  readonly #options: PopularityOptions
  readonly #notePopular: Script
  readonly #setEach: Script
  readonly #known = new Map<Code, Hot & { round: number }>()
  readonly #timer: NodeJS.Timeout
  #counts = new Map<number, number>()
  #round = 0
  #running = Promise.resolve()

  constructor(options: PopularityOptions) {
    const lua = readFileSync(new URL('note_popular.lua', import.meta.url), 'utf8')
    this.#options = options
    this.#notePopular = options.redis.script('qlNotePopular', lua)
    this.#setEach = options.redis.script('qlSetEach', setEachLua)
    this.#timer = setInterval(() => {
      this.#running = this.#run().catch(() => undefined)
    }, options.everyMs)
    this.#timer.unref()
  }

  note(batches: readonly Spooled[]): void {
    for (const { rows } of batches) {
      for (const [linkId, clicks] of rows) this.#counts.set(linkId, (this.#counts.get(linkId) ?? 0) + clicks)
    }
  }

  hot(): Code[] {
    return [...this.#known.values()].sort((a, b) => b.perMinute - a.perMinute).map(({ code }) => code)
  }

  lifeS(code: Code): number | undefined {
    const link = this.#known.get(code)
    return link && matrixLifeS(link.perMinute, link.changed)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  async #run(): Promise<void> {
    const counted = this.#counts
    this.#counts = new Map()
    this.#round++
    for (const [code, { round }] of this.#known) if (this.#round - round > keptRounds) this.#known.delete(code)
    const links = await this.#hottest(counted)
    if (links.length === 0) return
    const without = await this.#tell(links)
    for (const link of links) this.#known.set(link.code, { ...link, round: this.#round })
    await this.#describe(without)
  }

  async #hottest(counted: ReadonlyMap<number, number>): Promise<Hot[]> {
    const { sql, minClicks, maxLinks } = this.#options
    const top = [...counted]
      .filter(([, clicks]) => clicks >= minClicks)
      .sort(([, a], [, b]) => b - a)
      .slice(0, maxLinks)
    if (top.length === 0) return []
    const facts = await sql.query<LinkFacts>(factsSql, [top.map(([id]) => id)], 'ql-link-facts')
    return facts.map((link) => ({ ...link, clicks: counted.get(link.id) ?? 0, perMinute: 0 }))
  }

  /** Answers those without a meta key. */
  async #tell(links: readonly Hot[]): Promise<Hot[]> {
    const { ask, hotTtlS } = this.#options
    const keys = links.flatMap(({ code }) => [`ql:v1:hot:${code}`, `ql:v1:meta:${code}`])
    const args = [Math.floor(Date.now() / 1000), this.#lifeMs(hotTtlS), ...links.map(({ clicks }) => clicks)]
    const answers = (await ask(() => this.#notePopular(keys, args))) as [number, number][]
    links.forEach((link, i) => (link.perMinute = answers[i]?.[0] ?? 0))
    return links.filter((_, i) => answers[i]?.[1] !== 1)
  }

  async #describe(links: readonly Hot[]): Promise<void> {
    if (links.length === 0) return
    const { sql, ask, metaTtlS } = this.#options
    const ids = links.map(({ id }) => id)
    const totals = await sql.query<{ code: Code; clicks: number }>(totalsSql, [ids], 'ql-click-totals')
    const clicksOf = new Map(totals.map(({ code, clicks }) => [code, clicks]))
    const values = links.flatMap(({ code, expires, status }) => [
      JSON.stringify({ c: clicksOf.get(code) ?? 0, ...(expires === null ? {} : { e: expires }), s: status }),
      this.#lifeMs(metaTtlS),
    ])
    const keys = links.map(({ code }) => `ql:v1:meta:${code}`)
    await ask(() => this.#setEach(keys, values))
  }

  #lifeMs(ttlS: number): number {
    const { ttlJitter, random = Math.random } = this.#options
    return Math.round(ttlS * 1000 * (1 + (2 * random() - 1) * ttlJitter))
  }
}
