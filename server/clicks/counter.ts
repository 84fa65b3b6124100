// Clicks per link, counted in the process and written to Postgres once a second, by the hour.
import type { Sql } from '../connections/postgres.ts'

interface ClicksOptions {
  readonly sql: Sql
  readonly everyMs: number
  /** Links with unwritten clicks, at most; clicks of a further link are dropped and counted. */
  readonly maxLinks: number
  readonly onAccepted: (clicks: number) => void
  readonly onPersisted: (clicks: number) => void
  readonly onDropped: (clicks: number) => void
  readonly nowMs?: () => number
}

/** Clicks of one link that are not in the map yet. As many as are wanted may exist per link. */
export interface Tally {
  readonly linkId: number
  n: number
}

export interface Clicks {
  /** For a copy of the link: counting its clicks takes no look-up. */
  tally(linkId: number): Tally
  hit(tally: Tally): void
  flush(): Promise<void>
  /** Not yet in Postgres. */
  readonly pending: number
  stop(): Promise<void>
}

const writeSql = `
insert into clicks (link_id, hour, clicks)
select id, date_trunc('hour', to_timestamp($3::float8)), n from unnest($1::bigint[], $2::bigint[]) as counted(id, n)
order by id
on conflict (link_id, hour) do update set clicks = clicks.clicks + excluded.clicks`

export function startClicks(options: ClicksOptions): Clicks {
  const nowMs = options.nowMs ?? Date.now
  let counts = new Map<number, number>()
  // Those with clicks. The list holds them, so a copy that is replaced or evicted takes none with it.
  let tallies: Tally[] = []
  let beganMs = nowMs()
  let writing: Promise<void> | undefined

  const add = (linkId: number, clicks: number): void => {
    const before = counts.get(linkId)
    if (before === undefined && (linkId === 0 || counts.size >= options.maxLinks)) options.onDropped(clicks)
    else counts.set(linkId, (before ?? 0) + clicks)
  }

  const settle = (): void => {
    const due = tallies
    tallies = []
    for (const tally of due) {
      options.onAccepted(tally.n)
      add(tally.linkId, tally.n)
      tally.n = 0
    }
  }

  const write = async (): Promise<void> => {
    settle()
    const batch = counts
    const atMs = beganMs
    counts = new Map()
    beganMs = nowMs()
    if (batch.size === 0) return
    try {
      await options.sql.query(writeSql, [[...batch.keys()], [...batch.values()], atMs / 1000], 'ql-write-clicks')
      options.onPersisted(sum(batch))
    } catch {
      // Postgres is away: they wait for the next flush, with whatever came since.
      for (const [linkId, clicks] of batch) add(linkId, clicks)
    }
  }
  const flush = (): Promise<void> =>
    (writing ??= write().finally(() => {
      writing = undefined
    }))

  const timer = setInterval(() => void flush(), options.everyMs)

  return {
    tally: (linkId) => ({ linkId, n: 0 }),
    hit(tally) {
      if (tally.n++ > 0) return
      tallies.push(tally)
      if (tallies.length >= options.maxLinks) settle()
    },
    flush,
    get pending() {
      settle()
      return sum(counts)
    },
    async stop() {
      clearInterval(timer)
      await writing
      await flush()
    },
  }
}

const sum = (counts: ReadonlyMap<number, number>): number => [...counts.values()].reduce((a, b) => a + b, 0)
