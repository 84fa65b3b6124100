// What grows and is no longer needed, worked off in small steps. One process at a time: each step takes the lock, and
// whoever does not get it leaves the work to the holder. A task that fails is told of and tried again the next time; the
// others go on. A step that was too much for its time is tried again smaller.
import { clickIndexes, foldIntoDays, foldIntoMonths, removeDeadClicks, type Step } from '../clicks/history.ts'
import { limits } from '../limits.ts'
import type { Choose } from '../connections/indexes.ts'
import { sqlState, type Postgres, type Sql } from '../connections/postgres.ts'
import { usualTerms, visitTasks, type Terms } from '../visits/keep.ts'
import { addUpMonths, removeOldSums } from '../visits/sums.ts'
import { listIndexes } from './list.ts'
import { searchIndexes } from './search.ts'
import { addUpTags } from './tags.ts'

/** What is built after the start, where it is missing. */
export const chooseIndexes: Choose = async (add) => [...clickIndexes, ...listIndexes, ...(await searchIndexes(add))]

/** Rows of a step. */
const [most, least] = [1000, 10]
/** A step that takes longer is followed by a smaller one. */
const slowMs = 1000
const upkeepLock = 7_105_002

type Task = (sql: Sql, size: number) => Promise<Step>

const tasks = {
  // Expired or deleted long ago: their codes are free again, and caches have forgotten them. Their clicks are the next task's.
  // What leads somewhere after its end goes only when it is deleted.
  links: remove(
    'links',
    `deleted_at < now() - make_interval(days => $1)
     or (expires_at < now() - make_interval(days => $1) and expired_url is null)`,
    limits.purgeAfterDays,
  ),
  // Refused for as long, and until then listed with the reason.
  keys: remove(
    'api_keys',
    `id <> 'owner' and (revoked_at < now() - make_interval(days => $1) or expires_at < now() - make_interval(days => $1))`,
    limits.purgeAfterDays,
  ),
  sessions: remove(
    'sessions',
    `ends_at < now() or used_at < now() - make_interval(hours => $1)`,
    limits.sessionIdleHours,
  ),
  signInLinks: remove('sign_in_links', 'ends_at < now() - make_interval(days => $1)', 0),
  audit: remove('audit', 'at < now() - make_interval(days => $1)', limits.auditDays),
  auditAddresses: step(
    'update audit set address = null',
    'audit',
    'address is not null and at < now() - make_interval(days => $1)',
    limits.auditAddressDays,
  ),
  // Those whose file never came whole; and those that ended long ago, with the rows that they have refused.
  imports: remove(
    'imports',
    `(state = 'receiving' and created_at < now() - interval '1 day') or ended_at < now() - make_interval(days => $1)`,
    limits.importDays,
  ),
  deadClicks: removeDeadClicks,
  clickDays: foldIntoDays,
  clickMonths: foldIntoMonths,
  idempotencyKeys: remove(
    'idempotency_keys',
    'created_at < now() - make_interval(hours => $1)',
    limits.idempotencyHours,
  ),
  outbox: remove('outbox', 'at < now() - make_interval(hours => $1)', limits.outboxHours),
  // Grants of months that are long over.
  hits: remove('hits', 'month < now() - make_interval(months => $1)', limits.hitsMonths),
  // Spools whose files are gone, when no statement about them can be under way any more.
  spools: remove('click_spools', 'closed_at < now() - make_interval(days => $1)', limits.spoolDays),
} satisfies Record<string, Task>

/** With those of visits, which go by the settings. Before the others, and soon after the start: what has no partition cannot be kept. Sums can wait. */
const tasksBy = (terms: Terms) => ({
  ...visitTasks(terms),
  ...tasks,
  visitSums: addUpMonths(terms),
  visitSumsOld: removeOldSums(terms),
})
type TaskName = keyof ReturnType<typeof tasksBy>

/** Rows that each task has worked off. Never rejects. */
export async function upkeep(
  db: Postgres,
  onFailure: (task: TaskName, error: unknown) => void,
  terms: Terms = usualTerms,
): Promise<Record<TaskName, number>> {
  const all: Record<TaskName, Task> = tasksBy(terms)
  const names = Object.keys(all) as TaskName[]
  const worked = Object.fromEntries(names.map((task) => [task, 0])) as Record<TaskName, number>
  for (const task of names) {
    try {
      for await (const rows of steps(db, all[task])) worked[task] += rows
    } catch (error) {
      onFailure(task, error)
    }
  }
  return worked
}

/** Before what takes long at the start: visits for which there is no partition cannot be kept. */
export async function makeVisitPartitions(db: Postgres): Promise<void> {
  for await (const _ of steps(db, visitTasks(usualTerms).visitPartitions)) void _
}

/** Far more often than the rest, so that few changes of tags stand beside their numbers. */
export async function countTags(db: Postgres): Promise<void> {
  for await (const _ of steps(db, addUpTags)) void _
}

/** Until nothing is left, or the task's time is over: the rest is the next time's. */
async function* steps(db: Postgres, task: Task): AsyncGenerator<number> {
  const endMs = performance.now() + limits.upkeepTaskMs
  let size = most
  for (let more = true; more && performance.now() < endMs;) {
    const beganMs = performance.now()
    try {
      const step = await db.transaction(async (sql) => {
        const [lock] = await sql.query<{ mine: boolean }>(`select pg_try_advisory_xact_lock(${upkeepLock}) as mine`)
        return lock?.mine ? task(sql, size) : { rows: 0, more: false }
      })
      more = step.more
      yield step.rows
    } catch (error) {
      if (size === least || sqlState(error) !== cancelled) throw error
      size = least
    }
    if (performance.now() - beganMs > slowMs) size = Math.max(least, Math.floor(size / 2))
  }
}

/** SQLSTATE of a statement that reached its deadline. */
const cancelled = '57014'

function remove(table: string, isOld: string, age: number): Task {
  return step(`delete from ${table}`, table, isOld, age)
}

function step(does: string, table: string, isOld: string, age: number): Task {
  const text = `with gone as (
      ${does} where ctid = any (array(
        select ctid from ${table} where ${isOld} limit $2 for update skip locked
      )) returning 1
    )
    select count(*) as rows from gone`
  return async (sql, size) => {
    const [row] = await sql.query<{ rows: number }>(text, [age, size])
    const rows = row?.rows ?? 0
    return { rows, more: rows === size }
  }
}
