// Imports are worked off part by part, each in one transaction with its checkpoint: whichever worker comes to it takes the next part, and
// one that is killed leaves a part undone, never half done. One part at a time of all imports, so that they take no more of Postgres than
// that, however many there are; the one that has waited longest is next.
import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '../limits.ts'
import { isUnavailable, sqlState, type Postgres, type Sql } from '../connections/postgres.ts'
import { LookAgain, Overtaken, workPart, type Job, type Outcome, type PartDeps } from './part.ts'
import { finishImport, nextImport, nextPart, noteOutcome, noteTry, ourFault, tookTooLong } from './progress.ts'

export interface JobDeps extends PartDeps {
  /** To look whether there is anything to do. */
  readonly sql: Sql
  /** Connections of its own, while there is. */
  readonly open: () => Postgres
  /** This process has just heard all that changed, and so has its Redis. */
  readonly isFresh: () => boolean
  readonly onTrouble: (error: unknown, what: string) => void
}

export interface Importer {
  /** There is something to do. */
  soon(): void
  stop(): Promise<void>
}

const importLock = 7_105_013

export function startImporter(deps: JobDeps, everyMs: number = limits.importLookMs): Importer {
  const stopping = new AbortController()
  const { signal } = stopping
  const isStopped = (): boolean => signal.aborted
  let running: Promise<void> | undefined

  const look = async (): Promise<void> => {
    // Whoever works on a part holds the lock; a look takes it for no longer than it lasts.
    const [found] = await deps.sql.query<{ any: boolean }>(
      `select exists (select from imports where state in ('queued', 'running')) and pg_try_advisory_xact_lock(${importLock}) as any`,
    )
    if (found?.any !== true || signal.aborted) return
    const db = deps.open()
    try {
      while (!isStopped() && (await step(db)));
    } finally {
      await db.close()
    }
  }

  /** Whether there may be more. What fails is tried again; what fails again and again by our doing ends its import. */
  const step = async (db: Postgres): Promise<boolean> => {
    await freshness()
    const tried: { job?: Job } = {}
    try {
      return await db.transaction((sql) => workNext(sql, deps, tried))
    } catch (error) {
      if (error instanceof LookAgain) await deps.preparation.prepare()
      else if (sqlState(error) === tooSlow && tried.job) await noteTry(db, tried.job.id, tookTooLong)
      else if (mayPass(error)) await pause(limits.importRetryMs * Math.random(), undefined, { signal }).catch(() => undefined)
      else {
        deps.onTrouble(error, 'a part of an import failed')
        if (tried.job) await noteTry(db, tried.job.id, ourFault)
      }
      return true
    }
  } // prettier-ignore

  /** So that no process' copies, and no Redis, fall behind what is imported. */
  const freshness = async (): Promise<void> => {
    const endMs = performance.now() + limits.importFreshMs
    while (!deps.isFresh() && performance.now() < endMs && !signal.aborted) await pause(10)
  }

  const soon = (): void => {
    if (signal.aborted) return
    running ??= look()
      .catch((error: unknown) => {
        if (!isUnavailable(error)) deps.onTrouble(error, 'imports could not be looked for')
      })
      .finally(() => (running = undefined))
  }
  const timer = setInterval(soon, everyMs)
  return {
    soon,
    async stop() {
      stopping.abort()
      clearInterval(timer)
      await running
    },
  }
}

/** SQLSTATE of a statement that reached its deadline: another try may do, and others should not wait for it. */
const tooSlow = '57014'

/** Of Postgres, or of who was faster: another try may do. */
const mayPass = (error: unknown): boolean =>
  error instanceof Overtaken || isUnavailable(error) || sqlState(error) === '25P02'

/** False: there is nothing to do, or somebody else does it. */
async function workNext(sql: Sql, deps: PartDeps, tried: { job?: Job }): Promise<boolean> {
  const [lock] = await sql.query<{ mine: boolean }>(`select pg_try_advisory_xact_lock(${importLock}) as mine`)
  if (lock?.mine !== true) return false
  const job = await nextImport(sql)
  if (!job) return false
  tried.job = job
  const n = await nextPart(sql, job.id)
  if (n === undefined) await finishImport(sql, job.id, null)
  else {
    const outcome: Outcome = await workPart(sql, deps, job, n)
    await noteOutcome(sql, job.id, outcome)
    if (outcome.failure !== null) await finishImport(sql, job.id, outcome.failure)
  }
  return true
}
