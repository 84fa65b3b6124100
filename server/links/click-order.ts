// Clicks as lists are sorted by them: a copy of each total, with those from before the link was imported, which follows it in rounds. An index of the totals themselves would be
// written anew for every link of every batch of clicks.
import { limits } from '../limits.ts'
import type { Postgres } from '../connections/postgres.ts'

export interface Round {
  /** Links whose place has changed. */
  readonly moved: number
  /** All totals were looked at. */
  readonly isWhole: boolean
}

/** Each round goes on where the one before had to stop. What somebody else holds is left for the next time. */
export function clickOrder(bounds: { readonly orderStep: number; readonly orderMs: number } = limits) {
  let reached = 0
  return async (db: Postgres): Promise<Round> => {
    const endMs = performance.now() + bounds.orderMs
    let moved = 0
    for (;;) {
      const [step] = await db.query<{ last: number | null; looked: number; moved: number }>(
        `with step as materialized (
           select link_id, clicks from click_totals where link_id > $1 order by link_id limit $2
         ), late as materialized (
           select link_id, step.clicks + details.clicks_before as clicks from step join link_details as details using (link_id)
           where details.clicks <> step.clicks + details.clicks_before for update of details skip locked
         ), told as (
           update link_details as details set clicks = late.clicks from late where details.link_id = late.link_id returning 1
         )
         select max(link_id) as last, count(*) as looked, (select count(*) from told) as moved from step`,
        [reached, bounds.orderStep],
      )
      moved += step?.moved ?? 0
      const isWhole = (step?.looked ?? 0) < bounds.orderStep
      reached = isWhole ? 0 : (step?.last ?? 0)
      if (isWhole || performance.now() > endMs) return { moved, isWhole }
    }
  }
}
