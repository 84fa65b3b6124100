// Which links are hot, from the clicks that have just been counted: `ql:v1:hot:{code}` for all processes, and for this one
// the lives that the seed's matrix gives to hot links. All of it is best effort, bounded, and off the redirect's path.
import { readFileSync } from 'node:fs'
import type { Partition } from '../coherence/open.ts'
import { jitteredMs } from '../coherence/schema.ts'
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Partitions } from '../connections/partitions.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Code } from '../link.ts'
import type { Spooled } from './batch.ts'

export interface PopularityDeps {
  readonly sql: Sql
  readonly partitions: Partitions<Pick<Partition, 'redis' | 'keys' | 'ask'>>
}

interface LinkFacts {
  readonly id: number
  readonly code: Code
  /** Seconds since its last change; null: it is as it was created. */
  readonly changed: number | null
}

interface Hot extends LinkFacts {
  /** Of all processes. */
  readonly perMinute: number
  readonly round: number
}

const factsSql = `
select id, code, case when updated_at > created_at then extract(epoch from now() - updated_at)::float8 end as changed
from links where id = any($1) and deleted_at is null`

/** A link that was not hot for so many rounds is forgotten. */
const keptRounds = 6

export class Popularity {
  readonly #config: Pick<Config, 'hotTtlS' | 'ttlJitter'>
  readonly #deps: PopularityDeps
  readonly #notes: Partitions<(codes: readonly Code[], args: readonly (string | number)[]) => Promise<unknown>>
  readonly #known = new Map<Code, Hot>()
  readonly #timer: NodeJS.Timeout
  #counts = new Map<number, number>()
  #round = 0
  #running = Promise.resolve()

  constructor(config: Pick<Config, 'hotTtlS' | 'ttlJitter'>, deps: PopularityDeps) {
    const lua = readFileSync(new URL('note_popular.lua', import.meta.url), 'utf8')
    this.#config = config
    this.#deps = deps
    this.#notes = deps.partitions.map(({ redis, keys, ask }) => {
      const script = redis.script('qlNotePopular', lua)
      return (codes, args) => ask(() => script(codes.map(keys.hot), args))
    })
    this.#timer = setInterval(() => {
      this.#running = this.#run().catch(() => undefined)
    }, limits.popularEveryMs)
    this.#timer.unref()
  }

  note(batches: readonly Spooled[]): void {
    for (const { rows } of batches) {
      for (const [linkId, clicks] of rows) this.#counts.set(linkId, (this.#counts.get(linkId) ?? 0) + clicks)
    }
  }

  /** Hottest first. */
  hot(): Code[] {
    return [...this.#known.values()].sort((a, b) => b.perMinute - a.perMinute).map(({ code }) => code)
  }

  /** Seconds that a hot link lives in Redis by the matrix; undefined: it is not known to be hot. */
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
    const round = ++this.#round
    for (const [code, { round: last }] of this.#known) if (round - last > keptRounds) this.#known.delete(code)
    const top = [...counted]
      .filter(([, clicks]) => clicks >= limits.popularClicks)
      .sort(([, a], [, b]) => b - a)
      .slice(0, limits.popularLinks)
    if (top.length === 0) return
    const { sql, partitions } = this.#deps
    const links = await sql.query<LinkFacts>(factsSql, [top.map(([id]) => id)], 'ql-link-facts')
    const { hotTtlS, ttlJitter } = this.#config
    const note = async ([index, mine]: [number, LinkFacts[]]): Promise<void> => {
      const clicks = mine.map(({ id }) => counted.get(id) ?? 0)
      const args = [Math.floor(Date.now() / 1000), jitteredMs(hotTtlS, ttlJitter), ...clicks]
      const frequencies = (await this.#notes.all[index]!(mine.map(({ code }) => code), args)) as number[] // prettier-ignore
      mine.forEach((link, i) => this.#known.set(link.code, { ...link, perMinute: frequencies[i] ?? 0, round }))
    }
    await Promise.allSettled([...partitions.group(links, ({ code }) => code)].map(note))
  }
}

const hourS = 3600
const dayS = 24 * hourS

/**
 * The seed's decision matrix: how long a link lives in Redis, by traffic and by how often it is changed.
 * Rows: more than 1,000 requests a minute, from 100 on, fewer. Columns: changed rarely, moderately, frequently.
 */
const matrix = [
  [dayS, hourS, hourS / 4],
  [6 * hourS, hourS, hourS / 2],
  [hourS, hourS / 2, hourS / 4],
] as const

/**
 * How often a link is changed is told by its last change: within an hour it is frequent, within a day moderate. A link
 * that never was changed (null) is not made frequent by having been created just now.
 */
export function matrixLifeS(perMinute: number, changedS: number | null): number {
  const row = matrix[perMinute > 1000 ? 0 : perMinute >= 100 ? 1 : 2]
  return row[changedS === null || changedS >= dayS ? 0 : changedS >= hourS ? 1 : 2]
}
