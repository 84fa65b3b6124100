// What this process' passes have heard lately, for the answers of a standby: one that does not know all that was heard of a code is
// not taken, however far behind the standby is. So the promise about changes holds with every standby that holds it without.
import type { Code } from '../link.ts'
import { compareSnapshots, type Cursor } from './cursor.ts'

/** What whoever answered knows: of which database, and all that this snapshot saw. */
export type AsOf = Pick<Cursor, 'identity' | 'snapshot'>

export class News {
  readonly #most: number
  /** Where the passes stand. */
  #now: AsOf | undefined
  /** What every answer has to know. */
  #all = ''
  /** What an answer about this code has to know, the oldest first. */
  readonly #of = new Map<Code, string>()

  constructor(most: number) {
    this.#most = most
  }

  /** A pass has heard that these have changed, or that anything may have. */
  heard(now: AsOf, codes: readonly Code[] | 'anything'): void {
    this.#now = now
    if (codes === 'anything') {
      this.#all = now.snapshot
      this.#of.clear()
      return
    }
    for (const code of codes) {
      this.#of.delete(code)
      this.#of.set(code, now.snapshot)
    }
    for (const [code, snapshot] of this.#of) {
      if (this.#of.size <= this.#most) break
      this.#of.delete(code)
      this.#all = snapshot
    }
  }

  /** Nothing can be compared with what passes hear next. */
  forget(): void {
    this.#now = undefined
  }

  /** Whoever knows so much knows all that passes have heard of this code. */
  isKnown(code: Code, { identity, snapshot }: AsOf): boolean {
    if (this.#now?.identity !== identity || compareSnapshots(snapshot, this.#all) < 0) return false
    const heard = this.#of.get(code)
    return heard === undefined || compareSnapshots(snapshot, heard) >= 0
  }

  /** Passes have heard all that this knows. */
  reaches({ identity, snapshot }: AsOf): boolean {
    return this.#now?.identity === identity && compareSnapshots(snapshot, this.#now.snapshot) <= 0
  }
}
