// The links that are asked for: made in Postgres, by Postgres, and removed afterwards. Which code leads where is in
// loadtest/k6/lib/world.ts.
import { Refusal } from '../../embedded/paths.ts'
import { tend } from '../../embedded/sql.ts'
import { waitFor } from '../../embedded/wait.ts'
import { codeOf, destinationOf } from '../k6/lib/world.ts'
import type { Worker } from '../measure/ops.ts'
import type { Database, Target } from './target.ts'

/** What every code of a load test begins with; a run adds its time, so that no cache knows its codes. */
export const family = 'ql-load-'

/** One statement: more would be one long transaction, and one long pass of every process. */
const chunk = 50_000

export interface Dataset {
  readonly prefix: string
  readonly seed: string
  readonly links: number
}

const most = 10_000_000

/** `5000`, `100k`, `1m`. */
export function linksIn(text: string): number {
  const [, digits = '', unit = ''] = /^(\d+)([km]?)$/i.exec(text) ?? []
  const links = Number(digits) * ({ k: 1000, m: 1_000_000 }[unit.toLowerCase()] ?? 1)
  if (links >= 1 && links <= most) return links
  throw new Refusal(`DATASET is ${text}, but must be a number of links up to 10m: 5000, 100k, 1m.`)
}

type Say = (line: string) => void

export async function makeLinks(database: Database, { prefix, seed, links }: Dataset, say: Say): Promise<void> {
  const [before = '', after = ''] = destinationOf(seed, '\n').split('\n')
  for (let from = 0; from < links; from += chunk) {
    const to = Math.min(links, from + chunk) - 1
    await database.query(
      'insert into links (code, url) select $1::text || n, $2::text || n || $3::text from generate_series($4::int, $5::int) n',
      [codeOf(prefix, ''), before, after, from, to],
    )
    if (links > 10 * chunk && (to + 1) % (10 * chunk) === 0) say(`${(to + 1).toLocaleString('en')} links`)
  }
  // Else Postgres would do both by itself, in the middle of the run.
  for (const table of ['links', 'outbox']) await tend(database, `vacuum (analyze) ${table}`)
}

/** All that load tests have left, a run that was killed included. */
export async function removeLinks(database: Database): Promise<void> {
  const some = `select id from links where code like $1 and url like 'https://example.org/%' limit ${chunk}`
  for (;;) {
    await database.query(`delete from clicks where link_id = any (array(${some}))`, [`${family}%`])
    const [gone] = await database.query<{ count: number }>(
      `with gone as (delete from links where id = any (array(${some})) returning 1) select count(*)::int as count from gone`,
      [`${family}%`],
    )
    if (!gone?.count) return
  }
}

/**
 * Every process has worked off the news of the links, and asks its Redis again: a breaker that is still open from what was
 * done before would close in the middle, and one half of the run would be measured without Redis.
 */
export async function settled({ status }: Pick<Target, 'status'>): Promise<void> {
  if (status === undefined) return
  const isCalm = ({ redis, postgres }: Worker): boolean =>
    postgres.breaker !== 'open' && (redis.tier === 'off' || (redis.trusted && redis.breaker !== 'open'))
  const calm = async (): Promise<boolean> => (await status()).every((worker) => worker !== null && isCalm(worker))
  let times = 0
  await waitFor(async () => ((await calm()) ? ++times : (times = 0)) >= 8, { deadlineMs: 120_000, everyMs: 100 })
}
