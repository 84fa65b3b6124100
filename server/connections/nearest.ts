// For what may be a little old, as figures may: a standby while it is fit to be asked, and the primary where that fails.
import { sqlState, type Postgres } from './postgres.ts'

export type Reads = Pick<Postgres, 'query' | 'transaction'>

const tooSlow = '57014'

export function nearest(far: Reads, near: Reads | undefined, isFit: () => boolean): Reads {
  if (near === undefined) return far
  const first = async <T>(ask: (db: Reads) => Promise<T>): Promise<T> => {
    if (!isFit()) return ask(far)
    try {
      return await ask(near)
    } catch (error) {
      // What takes too long there would only take the primary's time as well. A mistake of ours fails there, too.
      if (sqlState(error) === tooSlow) throw error
      return ask(far)
    }
  }
  return {
    query: (...asked) => first((db) => db.query(...asked)),
    transaction: (work) => first((db) => db.transaction(work)),
  }
}
