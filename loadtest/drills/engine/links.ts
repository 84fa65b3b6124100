// The links of a drill: in Postgres, and in Redis where the drill wants them there.
import { setTimeout as pause } from 'node:timers/promises'
import { docker } from '../../../appliance/compose.ts'
import { tend, withSql } from '../../../embedded/sql.ts'
import { until } from '../../../embedded/wait.ts'
import { singleKeys } from '../../../server/redis-keys.ts'
import type { Code } from '../../../server/link.ts'
import { ask } from '../../../embedded/ask.ts'
import type { Appliance } from './appliance.ts'
import type { LoadGroup } from './load.ts'
import { standardDestination } from './oracle.ts'
import { Doubt, proven } from './drill.ts'

/** The links of these groups, and where they lead. */
export async function loadLinks({ sql }: Appliance, groups: readonly LoadGroup[]): Promise<void> {
  for (const { prefix, count } of groups) {
    await sql.query(
      `insert into links (code, url) select $1 || n, $2 || n from generate_series(0, $3::int - 1) n on conflict do nothing`,
      [prefix, standardDestination(prefix), count],
    )
  }
  await tend(sql, 'analyze links')
  const [foreign] = await sql.query<{ code: string }>(
    `select code from links where code ~ $1 and position($2 in url) <> 1 limit 1`,
    [`^(${groups.map(({ prefix }) => prefix).join('|')})[0-9]+$`, standardDestination('')],
  )
  if (foreign) throw new Doubt(`There is a link ${foreign.code} already, which is not a drill's.`)
}

const own = (prefixes: readonly string[]): string =>
  `select id from links where code ~ '^(${prefixes.join('|')})[0-9]+$' and url like 'https://example.org/%'`

/** From a database that is not the drill's own. Patient: it may be starting. */
export async function removeLinks(container: string, prefixes: readonly string[]): Promise<void> {
  const command = `delete from clicks where link_id in (${own(prefixes)}); delete from links where id in (${own(prefixes)})`
  const psql = ['psql', '--username=postgres', '--dbname=quicklink', '--quiet', `--command=${command}`]
  await until(async () => (await docker(['exec', container, ...psql])).code === 0, 30_000, 500)
}

/** The same, without Docker. */
export async function removeLinksAt(url: string, prefixes: readonly string[]): Promise<void> {
  const remove = (): Promise<boolean> =>
    withSql(url, async (sql) => {
      for (const [table, id] of [['clicks', 'link_id'], ['links', 'id']]) {
        await sql.query(`delete from ${table} where ${id} in (${own(prefixes)})`)
      }
      return true
    }) // prettier-ignore
  await until(remove, 30_000, 500)
}

/**
 * Asked for until Redis holds them all: a few at a time, for a process drops the fills beyond those. Tier 1 answers such a
 * link by itself for up to half a minute: what Redis lacks is forgotten by every cache, and filled by the next visit.
 */
export async function cacheAll(appliance: Appliance, prefix: string, count: number): Promise<void> {
  const { url, api } = appliance
  let missing = Array.from({ length: count }, (_, n) => `${prefix}${n}` as Code)
  const each = async (one: (code: Code) => Promise<unknown>): Promise<void> => {
    const codes = missing.values()
    const lane = async (): Promise<void> => {
      for (const code of codes) await one(code)
    }
    await Promise.all(Array.from({ length: 8 }, lane))
  }
  const allHeld = async (): Promise<boolean> => {
    await each((code) => ask(url, `/${code}`))
    // What is filled is not waited for.
    await pause(100)
    missing = await missingOf(appliance, missing)
    if (missing.length === 0) return true
    await each((code) => api('POST', '/cache/invalidate', { code }))
    // A fill lands only while no change is worked off.
    await pause(1000)
    return false
  }
  // Before the drill: a busy machine has its time.
  if (!(await proven(allHeld, 90_000)))
    throw new Doubt(`${missing.length} links of ${prefix} could not be put into Redis.`)
}

/** A digit for each. */
const whichExist = `EVAL "local r = '' for _, key in ipairs(KEYS) do r = r .. redis.call('EXISTS', key) end return r"`

/** By the hundred, because each question is a connection of its own. In a cluster each slot has its owner, who is asked. */
async function missingOf({ redis, cluster }: Appliance, codes: readonly Code[]): Promise<Code[]> {
  const lotsOf = (all: readonly Code[]): Code[][] =>
    Array.from({ length: Math.ceil(all.length / 100) }, (_, n) => all.slice(n * 100, n * 100 + 100))
  const ask = async (slot: number | undefined, command: string): Promise<string | undefined> => {
    if (!cluster || slot === undefined) return redis(command)
    const owner = await cluster.ownerOf(slot)
    return owner && cluster.tell(owner, command)
  }
  const missingIn = async (slot: number | undefined, lot: readonly Code[]): Promise<Code[]> => {
    const keys = lot.map((code) => (cluster?.keysOf(code) ?? singleKeys).link(code))
    const answer = await ask(slot, `${whichExist} ${lot.length} ${keys.join(' ')}`)
    const held = answer?.split('\r\n').at(-1)
    return lot.filter((_, at) => held?.[at] !== '1')
  }
  const bySlot = [...Map.groupBy(codes, (code) => cluster?.slotOf(code))]
  const asked = bySlot.flatMap(([slot, of]) => lotsOf(of).map((lot) => missingIn(slot, lot)))
  return (await Promise.all(asked)).flat()
}
