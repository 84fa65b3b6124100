// The steps of a write. What is acknowledged is committed; what is committed is announced, first of all to this process.
import type { Announcer, AsOf } from '../coherence/announce.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { QuickLinkError, unavailable } from '../errors.ts'
import type { Code } from '../link.ts'
import { mustLookAgain } from './adopt.ts'
import { claimKey, earlierAnswer, rememberAnswer, type IdempotencyKey } from './idempotency.ts'
import type { Mint } from './shortcode.ts'
import {
  deleteLink as deleteRow,
  insertCustom,
  insertGenerated,
  patchLink,
  toKnown,
  type LinkPatch,
  type LinkRow,
  type NewLink,
  type Scope,
} from './store.ts'

/** Rate limit and quota: `admit` throws where a tenant may not create. */
export interface Admission {
  admit(tenant: string, code: Code | undefined): Promise<Admitted>
  /** Throws where this tenant, whose key it is, may change nothing more for now. */
  change(tenant: string): Promise<Pick<Admitted, 'release'>>
  /** A link is to be deleted: what it took will be free again. */
  depart(): Departure
}

export interface Admitted {
  /** Around the insert, in its transaction: throws where no place is left. */
  within<T>(sql: Sql, insert: () => Promise<T>): Promise<T>
  /** The link is committed. */
  done(): Promise<void>
  /** Nothing came of it: what was taken goes back, unless it failed (`why`) by its caller's doing. */
  release(why?: unknown): Promise<void>
}

export interface Departure {
  /** In the transaction of the delete, before the row is touched. */
  before(sql: Sql, code: Code, scope: Scope): Promise<void>
  done(): Promise<void>
}

export interface Minting {
  readonly mint: Mint
  readonly saltGeneration: number
  /** When this was found out, and its files compared with what is known of them. */
  readonly postgresRunningSince: string
}

/** What codes are minted with; `prepare` finds it out anew, after a restore or a restart of Postgres. */
export interface Preparation {
  current(): Minting
  prepare(goneBack?: string): Promise<Minting>
}

export interface WriteDeps {
  readonly db: Postgres
  readonly preparation: Preparation
  readonly announcer: Announcer
  readonly admission: Admission
  /** How long a request waits for a restored database to be adopted. */
  readonly prepareMs: number
}

export interface CreateRequest {
  readonly link: NewLink
  readonly code: Code | undefined
  readonly idempotencyKey: IdempotencyKey | undefined
  /** What the caller is answered; kept with the idempotency key. */
  readonly present: (row: LinkRow) => unknown
}

interface Created {
  readonly answer: unknown
  /** undefined: an earlier request with the same key has created it. */
  readonly row: LinkRow | undefined
}

export async function createLink(deps: WriteDeps, request: CreateRequest): Promise<unknown> {
  let admitted: Admitted
  try {
    admitted = await deps.admission.admit(request.link.tenant, request.code)
  } catch (error) {
    // Who asks again for what was created needs no place of its own.
    const earlier = await earlierAnswer(deps.db, request.link.tenant, request.idempotencyKey)
    if (earlier === undefined) throw error
    return earlier
  }
  const asOf = deps.announcer.asOf()
  const { row, answer } = await orRelease(admitted, () => createOnce(deps, request, admitted))
  if (row) {
    await announce(deps, row, asOf)
    await admitted.done()
  } else await admitted.release()
  return answer
}

/** Attempts count, not successes: whoever admits hears why it came to nothing. */
export async function orRelease<T>(admitted: Pick<Admitted, 'release'>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await admitted.release(error)
    throw error
  }
}

async function createOnce(deps: WriteDeps, request: CreateRequest, admitted: Admitted): Promise<Created> {
  try {
    return await deps.db.transaction((sql) => create(sql, request, deps.preparation.current(), admitted))
  } catch (error) {
    if (!(error instanceof LookAgain)) throw error
    const anew = await prepared(deps)
    return await deps.db.transaction((sql) => create(sql, request, anew, admitted))
  }
}

async function create(sql: Sql, request: CreateRequest, minting: Minting, admitted: Admitted): Promise<Created> {
  const { link, code, idempotencyKey, present } = request
  if (idempotencyKey) {
    const answer = await claimKey(sql, link.tenant, idempotencyKey)
    if (answer !== undefined) return { answer, row: undefined }
  }
  if (await mustLookAgain(sql, minting.postgresRunningSince)) throw new LookAgain()
  const row = await admitted.within(sql, () =>
    code === undefined
      ? insertGenerated(sql, link, minting.mint, minting.saltGeneration)
      : insertCustom(sql, link, code),
  )
  const answer = present(row)
  if (idempotencyKey) await rememberAnswer(sql, link.tenant, idempotencyKey.key, row, answer)
  return { answer, row }
}

/** Found before anything is minted: the codes handed out since a copy was made are not known in it. */
class LookAgain extends QuickLinkError {
  constructor() {
    super('unavailable', 'The database is being prepared: try again soon.', { retryAfterS: 1 })
  }
}

async function prepared(deps: WriteDeps): Promise<Minting> {
  try {
    return await withDeadline(deps.preparation.prepare(), deps.prepareMs, 'preparing the database')
  } catch (error) {
    throw unavailable('The database is being prepared: try again soon.', error)
  }
}

export const changeLink = (deps: WriteDeps, code: Code, scope: Scope, patch: LinkPatch): Promise<LinkRow> =>
  writeExisting(deps, code, (sql) => patchLink(sql, code, scope, patch))

export async function deleteLink(deps: WriteDeps, code: Code, scope: Scope): Promise<LinkRow> {
  const departure = deps.admission.depart()
  const gone = await writeExisting(deps, code, async (sql) => {
    await departure.before(sql, code, scope)
    return deleteRow(sql, code, scope)
  })
  await departure.done()
  return gone
}

async function writeExisting(
  deps: WriteDeps,
  code: Code,
  write: (sql: Sql) => Promise<LinkRow | undefined>,
): Promise<LinkRow> {
  const asOf = deps.announcer.asOf()
  const row = await deps.db.transaction(write)
  if (!row) throw new QuickLinkError('not_found', `There is no link ${code}.`)
  await announce(deps, row, asOf)
  return row
}

/** What is committed is acknowledged, whatever becomes of the announcement: the relay pass finds the change. */
const announce = (deps: WriteDeps, row: LinkRow, asOf: AsOf): Promise<void> =>
  deps.announcer.announce(row.code, toKnown(row), asOf).catch(() => undefined)
