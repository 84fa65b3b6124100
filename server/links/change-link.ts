// The steps of a write. What is acknowledged is committed; what is committed is announced, first of all to this process.
import { withDeadline } from '../connections/deadline.ts'
import type { Postgres, Sql } from '../connections/postgres.ts'
import { QuickLinkError, unavailable } from '../errors.ts'
import type { Code, Known } from '../link.ts'
import { isRestoredCopy } from './adopt.ts'
import { claimKey, rememberAnswer, type IdempotencyKey } from './idempotency.ts'
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

/** Tells the caches. Best effort and quick; the relay pass makes it certain. */
export interface Announcer {
  /** What Postgres had shown when the write began; asked before its transaction. */
  asOf(): string | null
  announce(code: Code, known: Known, asOf: string | null): Promise<void>
}

/** Rate limit and quota: throws where a tenant may not create; what was taken goes back when nothing was created. */
export interface Admission {
  admit(tenant: string): Promise<{ release(): Promise<void> }>
}

export const everyoneAdmitted: Admission = { admit: () => Promise.resolve({ release: () => Promise.resolve() }) }

export interface Minting {
  readonly mint: Mint
  readonly saltGeneration: number
}

/** What codes are minted with; `prepare` finds it out anew, after a restore. */
export interface Preparation {
  current(): Minting
  prepare(): Promise<Minting>
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
  const admitted = await deps.admission.admit(request.link.tenant)
  let created: Created | undefined
  try {
    const asOf = deps.announcer.asOf()
    created = await createOnce(deps, request)
    if (created.row) await announce(deps, created.row, asOf)
    return created.answer
  } finally {
    if (!created?.row) await admitted.release()
  }
}

async function createOnce(deps: WriteDeps, request: CreateRequest): Promise<Created> {
  try {
    return await deps.db.transaction((sql) => create(sql, request, deps.preparation.current()))
  } catch (error) {
    if (!(error instanceof RestoredCopy)) throw error
    const anew = await prepared(deps)
    return await deps.db.transaction((sql) => create(sql, request, anew))
  }
}

async function create(sql: Sql, request: CreateRequest, minting: Minting): Promise<Created> {
  const { link, code, idempotencyKey, present } = request
  if (idempotencyKey) {
    const answer = await claimKey(sql, link.tenant, idempotencyKey)
    if (answer !== undefined) return { answer, row: undefined }
  }
  if (await isRestoredCopy(sql)) throw new RestoredCopy('the database is a restored copy')
  const row =
    code === undefined
      ? await insertGenerated(sql, link, minting.mint, minting.saltGeneration)
      : await insertCustom(sql, link, code)
  const answer = present(row)
  if (idempotencyKey) await rememberAnswer(sql, link.tenant, idempotencyKey.key, row, answer)
  return { answer, row }
}

/** Found before anything is minted: the codes handed out since the copy was made are not known here. */
class RestoredCopy extends Error {
  override readonly name = 'RestoredCopy'
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

export const deleteLink = (deps: WriteDeps, code: Code, scope: Scope): Promise<LinkRow> =>
  writeExisting(deps, code, (sql) => deleteRow(sql, code, scope))

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
const announce = (deps: WriteDeps, row: LinkRow, asOf: string | null): Promise<void> =>
  deps.announcer.announce(row.code, toKnown(row), asOf).catch(() => undefined)
