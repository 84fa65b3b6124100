// What this process vouches for: that nothing of which its own passes have heard is missing in a copy. While passes
// succeed, whatever changes is told to tier 1, so such a copy may be served however old it is.
//
// A copy is vouched for if it knows all that the passes had heard when it was stored. Whoever asks Postgres knows all that
// passes heard before; so it is enough that none was answered between the asking and the storing. What Redis says knows
// it, too, if the cursor beside it is one under which all that was heard has landed there (`Landing`).
import type { Cursor } from './cursor.ts'

export class Vouching {
  /** Passes that Postgres has answered. */
  passes = 0
  /** Those of them that heard of something. */
  news = 0
  /** Copies that are vouched for may be served until then. */
  untilMs = -Infinity
  readonly #trustMs: number

  constructor(trustMs: number) {
    this.#trustMs = trustMs
  }

  /** A pass that began then has told tier 1 what changed. */
  answered(beganMs: number, hasNews: boolean): void {
    this.passes++
    this.untilMs = beganMs + this.#trustMs
    if (hasNews) this.news++
  }

  /** Postgres has answered, and it is not the database that was asked before. */
  interrupted(): void {
    this.passes++
    this.untilMs = -Infinity
    this.news++
  }

  /** What was read now knows all that my passes had heard when they had been answered so many times. */
  noneSince(passes: number): boolean {
    return this.passes === passes
  }
}

/** How much of what this process' passes have heard is in its Redis, or in one partition of it. */
export class Landing {
  readonly #vouching: Pick<Vouching, 'news'>
  #text: string | null = null
  #reached: Cursor | undefined
  #news = -1

  constructor(vouching: Pick<Vouching, 'news'>) {
    this.#vouching = vouching
  }

  /** While this cursor stands there, so much of the news is there, and nothing is missing up to `reached`. */
  hasLanded(text: string, reached: Cursor, news: number): void {
    this.#text = text
    this.#reached = reached
    this.#news = news
  }

  /** Nobody can say. */
  isUnknown(): void {
    this.#news = -1
  }

  /** What stands beside this cursor knows all that passes have heard. */
  isCurrent(text: string | null): boolean {
    return text !== null && text === this.#text && this.#news === this.#vouching.news
  }

  /** How far the truth is there while this cursor stands: further than the cursor says, where nothing has changed since. */
  reached(text: string | null): Cursor | undefined {
    return text !== null && text === this.#text ? this.#reached : undefined
  }
}
