// The only importer of pg. A pool with every wait bounded: to connect, to be served, to be answered.
import pg from 'pg'
import { inPlainWords, Unverified, type Server } from './certificates.ts'
import { DeadlineExceeded } from './deadline.ts'
import { boundsOf, reader, settingsOf, type DatabaseTarget } from './parameters.ts'

export interface PostgresOptions extends DatabaseTarget {
  readonly name: string
  readonly maxConnections: number
  readonly connectMs: number
  /** The client gives up after this; the server itself a little earlier, so that no orphaned statement runs on. */
  readonly queryMs: number
  /** See parameters.ts. */
  readonly onlyIndexes?: boolean
  readonly onError: (error: Error) => void
}

export type Row = Record<string, unknown>
export interface Sql {
  /**
   * A named statement is prepared once per connection. In a transaction statements are sent as they are asked for: whoever does
   * not need the answer of one asks for the next at once, and waits for both together.
   */
  query<T = Row>(text: string, values?: readonly unknown[], name?: string): Promise<T[]>
}
export interface PoolCounts {
  readonly active: number
  readonly idle: number
  readonly waiting: number
}

export interface Postgres extends Sql {
  /** What `work` has asked and not waited for is waited for with the commit. */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>
  counts(): PoolCounts
  close(): Promise<void>
}

// Versions, ids and counters stay below 2^53.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

export function openPostgres(options: PostgresOptions): Postgres {
  const { name, connectMs, queryMs, pooled = false } = options
  const { statementMs, idleMs } = boundsOf(options)
  const begin = pooled ? `begin; ${settingsOf(options)}` : 'begin'
  const parameters = reader(options)
  const pool = new pg.Pool({
    application_name: name,
    max: options.maxConnections,
    connectionTimeoutMillis: connectMs,
    query_timeout: queryMs,
    ...(pooled ? {} : { statement_timeout: statementMs, idle_in_transaction_session_timeout: idleMs }),
    idleTimeoutMillis: 0,
    keepAlive: true,
    Client: class extends pg.Client {
      constructor(given?: pg.ClientConfig) {
        super({ ...given, ...parameters() })
      }
    },
    // Not yet in its types. Statements of a transaction do not wait for each other's answers.
    ...{ pipeline: true },
  })
  // Without a listener, an idle connection that breaks would end the process.
  pool.on('error', options.onError)
  pool.on('connect', (client) => client.on('error', options.onError))

  const transaction: Postgres['transaction'] = async (work) => {
    const client = await pool.connect().catch((error: unknown) => {
      throw inPlainWords(error, server(options))
    })
    const sql = sqlOf(client, !pooled)
    const asked: Promise<unknown>[] = []
    const ask: Sql['query'] = (text, values, name) => {
      const rows = sql.query(text, values, name)
      asked.push(rows)
      // Who asked may not wait for it; below, somebody does.
      rows.catch(() => undefined)
      return rows as Promise<never>
    }
    let failure: Error | undefined
    try {
      void ask(begin)
      const result = await work({ query: ask })
      void ask('commit')
      // After a statement that failed, Postgres takes a commit for a rollback, and says nothing.
      await Promise.all(asked)
      return result
    } catch (error) {
      // A connection that cannot even roll back is not given back to the pool.
      await client.query('rollback').catch(() => (failure = error as Error))
      // Where nobody waited for the statement that failed, the next one says only that something did.
      throw sqlState(error) === inFailedTransaction ? await firstFailure(asked, error) : error
    } finally {
      client.release(failure)
    }
  }
  return {
    query: pooled ? alone(transaction) : sqlOf(pool, true, server(options)).query,
    transaction,
    counts: () => ({
      active: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  }
}

interface SessionOptions extends DatabaseTarget {
  readonly name: string
  readonly connectMs: number
  /** For a statement. */
  readonly queryMs: number
}

/** A connection of its own, for what takes long or holds a lock: the end of the session gives that back. */
export async function inSession<T>(options: SessionOptions, work: (client: pg.Client) => Promise<T>): Promise<T> {
  await using session = await openSession(options)
  return await work(session.client)
}

interface Session extends AsyncDisposable {
  readonly client: pg.Client
}

/** The same for what is not done in one call. */
export async function openSession(options: SessionOptions): Promise<Session> {
  const client = new pg.Client({
    ...reader(options)(),
    application_name: options.name,
    connectionTimeoutMillis: options.connectMs,
    query_timeout: options.queryMs,
    keepAlive: true,
  })
  // Without a listener, a connection that breaks between two statements would end the process.
  client.on('error', () => undefined)
  const end = (): Promise<void> => client.end().catch(() => undefined)
  try {
    await client.connect()
  } catch (error) {
    await end()
    throw inPlainWords(error, server(options))
  }
  return { client, [Symbol.asyncDispose]: end }
}

/** `named`: statements that have a name are prepared once per connection. */
export const sqlOf = (client: pg.Pool | pg.ClientBase, named = true, toldAs?: Server): Sql => ({
  async query<T>(text: string, values: readonly unknown[] = [], name?: string) {
    const statement = { text, values: [...values], ...(name === undefined || !named ? {} : { name }) }
    try {
      return (await client.query(statement)).rows as T[]
    } catch (error) {
      throw toldAs ? inPlainWords(error, toldAs) : error
    }
  },
})

/** A statement with its settings is a transaction, sent as one. */
const alone =
  (transaction: Postgres['transaction']): Sql['query'] =>
  async <T>(text: string, values?: readonly unknown[]) => {
    let rows: Promise<T[]> | undefined
    await transaction((sql) => {
      rows = sql.query<T>(text, values)
      return Promise.resolve()
    })
    return (await rows) ?? []
  }

const server = ({ url, setting = 'DATABASE_URL' }: DatabaseTarget): Server => ({
  name: 'Postgres',
  url: typeof url === 'string' ? url : url(),
  setting,
  ca: `${setting} has to name its CA's file (sslrootcert=…)`,
})

const inFailedTransaction = '25P02'

const firstFailure = (asked: readonly Promise<unknown>[], other: unknown): Promise<unknown> =>
  Promise.all(asked).then(
    () => other,
    (first: unknown) => first,
  )

/** SQLSTATE of a statement that Postgres refused; undefined when Postgres could not be asked. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** Postgres could not do it now: unreachable, too slow, shutting down or out of connections. Not: a mistake of ours. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof DeadlineExceeded || error instanceof Unverified) return true
  const state = sqlState(error)
  // 08 connection, 53 resources, 57 intervention (statement_timeout is 57014), 25006 read-only, 40 lost a conflict.
  if (state !== undefined) return /^(08|53|57|40)/.test(state) || state === '25006'
  if (error instanceof AggregateError) return error.errors.some(isUnavailable)
  if (!(error instanceof Error)) return false
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' && syscall === 'connect') return true
  return networkCodes.has(code ?? '') || unreachable.test(error.message)
}

const networkCodes = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN'.split(' '),
)
// What pg says without a code.
const unreachable =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client (was closed|has encountered))/
