// What this process vouches for: that nothing of which its own passes have heard is missing in a copy. While passes
// succeed, whatever changes is told to tier 1, so such a copy may be served however old it is.
//
// A copy is vouched for if it knows all that the passes had heard when it was stored. Whoever asks Postgres knows all that
// passes heard before; so it is enough that none was answered between the asking and the storing. What Redis says knows
// it, too, if the cursor beside it is one under which all that was heard has landed there.
import type { Cursor } from './cursor.ts'

/** A cursor in Redis, as it stands there. */
export interface Landed {
  readonly text: string
  readonly cursor: Cursor
}

export class Vouching {
  /** Passes that Postgres has answered. */
  passes = 0
  /** Those of them that heard of something. */
  news = 0
  /** Copies that are vouched for may be served until then. */
  untilMs = -Infinity
  /** While this stands in my Redis, it has all that my passes have heard of. Unknown while news is on its way there. */
  landed: Landed | undefined
  readonly #trustMs: number

  constructor(trustMs: number) {
    this.#trustMs = trustMs
  }

  /** A pass that began then has told tier 1 what changed. */
  answered(beganMs: number, hasNews: boolean): void {
    this.passes++
    this.untilMs = beganMs + this.#trustMs
    if (hasNews) this.#heard()
  }

  /** Postgres has answered, and it is not the database that was asked before. */
  interrupted(): void {
    this.passes++
    this.untilMs = -Infinity
    this.#heard()
  }

  #heard(): void {
    this.news++
    this.landed = undefined
  }

  /** My Redis was brought to this cursor with so much of the news. */
  hasLanded(landed: Landed, news: number): void {
    this.landed = news === this.news ? landed : undefined
  }

  /** What was read now knows all that my passes had heard when they had been answered so many times. */
  noneSince(passes: number): boolean {
    return this.passes === passes
  }

  isCurrent(text: string | null): boolean {
    return text !== null && this.landed?.text === text
  }
}
