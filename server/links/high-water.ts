// How far this server has seen the database come: the highest link and counter that were committed, in a file in DATA_DIR.
// Files of a database that are put back (a volume's snapshot, a VM's) look like the database itself: the same system, the
// same timeline, the same epoch. That it stands below its own mark is all that shows.
//
// Only what is committed is marked: a crash of Postgres may forget numbers that were drawn and not committed.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sql } from '../connections/postgres.ts'

export interface HighWater {
  /** Which files these are, whatever became of their contents: all of its identity but the epoch. */
  readonly database: string
  readonly linkId: number
  readonly counter: number
}

export const highWaterFile = (dataDir: string): string => join(dataDir, 'high-water.json')

// One index probe per generation of the salt; a plain max() would read the table.
export const highestCounter = `
  select max(newest.counter) from ql_meta, generate_series(1, ql_meta.salt_generation) as generation,
    lateral (select counter from links
             where salt_generation = generation and counter is not null order by counter desc limit 1) as newest`

/** Undefined: never written, or not readable as what it should be. Then there is nothing to compare with. */
export async function readHighWater(dataDir: string): Promise<HighWater | undefined> {
  try {
    const found = JSON.parse(await readFile(highWaterFile(dataDir), 'utf8')) as Partial<HighWater>
    const { database, linkId, counter } = found
    const isMark = typeof database === 'string' && Number.isSafeInteger(linkId) && Number.isSafeInteger(counter)
    return isMark ? (found as HighWater) : undefined
  } catch {
    return undefined
  }
}

/** Whole or not at all. */
async function writeHighWater(dataDir: string, mark: HighWater): Promise<void> {
  const file = highWaterFile(dataDir)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeFile(`${file}.new`, `${JSON.stringify(mark)}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
}

interface Standing extends HighWater {
  readonly drawnLinkId: number
  readonly drawnCounter: number
}

const standingSql = `
  select regexp_replace(ql_identity(), '/[^/]*$', '') as database,
    coalesce((select max(id) from links), 0) as "linkId", coalesce((${highestCounter}), -1) as counter,
    (select last_value from link_id_seq) as "drawnLinkId", (select last_value from link_counter_seq) as "drawnCounter"`

async function standing(sql: Sql): Promise<Standing> {
  const [row] = await sql.query<Standing>(standingSql)
  if (!row) throw new Error('Postgres does not say where it stands')
  return row
}

/** Another database under the same DATA_DIR has nothing to do with the mark. */
const standsBelow = (now: Standing, mark: HighWater | undefined): boolean =>
  mark?.database === now.database && (now.drawnLinkId < mark.linkId || now.drawnCounter < mark.counter)

export const hasGoneBack = async (sql: Sql, mark: HighWater): Promise<boolean> => standsBelow(await standing(sql), mark)

interface WatchOptions {
  readonly sql: Sql
  readonly dataDir: string
  readonly everyMs: number
  /** Adopts it. Rejects when that could not be done, and is called again. */
  readonly onGoneBack: () => Promise<unknown>
  readonly onError: (error: unknown) => void
}

/** One look; answers what is marked now. */
export async function lookAtHighWater(options: Omit<WatchOptions, 'everyMs' | 'onError'>): Promise<HighWater> {
  const { sql, dataDir } = options
  const mark = await readHighWater(dataDir)
  let now = await standing(sql)
  if (standsBelow(now, mark)) {
    await options.onGoneBack()
    now = await standing(sql)
  }
  const isSame = mark?.database === now.database
  const next = {
    database: now.database,
    linkId: Math.max(now.linkId, isSame ? mark.linkId : 0),
    counter: Math.max(now.counter, isSame ? mark.counter : -1),
  }
  if (!isSame || next.linkId > mark.linkId || next.counter > mark.counter) await writeHighWater(dataDir, next)
  return next
}

/** A look every `everyMs`, one at a time. A database that is away is looked at when it is back. */
export function watchHighWater(options: WatchOptions): void {
  const look = (): void => {
    lookAtHighWater(options)
      .catch(options.onError)
      .finally(() => setTimeout(look, options.everyMs).unref())
  }
  look()
}
