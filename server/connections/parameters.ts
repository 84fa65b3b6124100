// What a connection to Postgres is made with, and how it is set. A pooler that lends a connection for one transaction (PgBouncer in
// transaction mode) knows nothing of what a session was set to: behind one, each transaction begins with its settings, and no statement
// is prepared for the next one. Elsewhere both are the connection's, and cost nothing.
import { parseIntoClientConfig } from 'pg-connection-string'
import type pg from 'pg'

/** Where a database is. */
export interface DatabaseTarget {
  /** A function is asked for each connection. */
  readonly url: string | (() => string)
  /** There is a pooler in between. */
  readonly pooled?: boolean
  /** Who names it: for what people are told. */
  readonly setting?: string
}

interface Options extends DatabaseTarget {
  readonly onlyIndexes?: boolean
}

const ways = ['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin']

/**
 * Every statement of ours is short: compiling one takes longer than running it. And where ways are switched off, Postgres
 * before 18 adds 10,000,000,000 to the estimate of a plan that has to go one of them all the same (a pass reads a
 * sequence), so that it compiled every pass.
 *
 * `onlyIndexes`: for connections whose every statement is a few index probes. A prepared statement keeps its plan: one that was made
 * while a table was small would read all of it for a minute after a bulk load, until Postgres has analysed it.
 */
const offIn = (onlyIndexes = false): readonly string[] => ['jit', ...(onlyIndexes ? ways : [])]

/** The client gives up after `queryMs`; the server itself a little earlier, so that no orphaned statement runs on. */
export const boundsOf = ({ queryMs }: { readonly queryMs: number }) => ({
  statementMs: Math.max(1, Math.floor(queryMs * 0.9)),
  idleMs: 5 * queryMs,
})

/** For one transaction: its first statements. */
export function settingsOf({
  onlyIndexes,
  queryMs,
}: {
  readonly onlyIndexes?: boolean
  readonly queryMs: number
}): string {
  const { statementMs, idleMs } = boundsOf({ queryMs })
  const off = offIn(onlyIndexes).map((name) => `set local ${name} = off`)
  return [
    ...off,
    `set local statement_timeout = ${statementMs}`,
    `set local idle_in_transaction_session_timeout = ${idleMs}`,
  ].join('; ')
}

/**
 * Reads URL and certificates for each connection: both may have been exchanged. What cannot be read at that moment is as it was; the first
 * time it throws.
 */
export function reader(options: Options): () => pg.ClientConfig {
  let last = parametersOf(options)
  return () => {
    try {
      last = parametersOf(options)
    } catch {
      // A file is just being exchanged.
    }
    return last
  }
}

function parametersOf({ url, pooled, onlyIndexes }: Options): pg.ClientConfig {
  const parsed = parseIntoClientConfig(typeof url === 'string' ? url : url())
  if (pooled) return parsed
  // What the URL asks for stays, and comes last.
  const ours = offIn(onlyIndexes).map((name) => `-c ${name}=off`)
  return { ...parsed, options: [...ours, ...(parsed.options ? [parsed.options] : [])].join(' ') }
}
