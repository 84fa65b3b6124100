// What mysqldump writes of yourls_url: its INSERTs, and nothing else of it. One pass over the text; a value has a longest length.
import { limits } from '../../limits.ts'
import { invalid, type QuickLinkError } from '../../errors.ts'
import { formatOfTable } from './all.ts'
import type { Cell } from './format.ts'
import { tooLong, unknownFormat, type Reading, type SourceRow } from './reading.ts'

/** As YOURLS has always made it. Addresses of people are not taken over. */
const usual = ['keyword', 'url', 'title', 'timestamp', 'ip', 'clicks'] as const
const kept = ['keyword', 'url', 'title', 'timestamp', 'clicks'] as const

/** A string, a name in backticks, a bare word or number, or one character that means something by itself. */
type Token = readonly ['string' | 'name' | 'word' | 'mark', string]

export const looksLikeDump = (text: string): boolean => /^(--|\/\*|#|(?:insert|create|drop|lock|set|use|start)\s)/i.test(text) // prettier-ignore

export async function readDump(pieces: AsyncIterable<string>): Promise<Reading> {
  const rows = rowsOf(pieces)
  const first = await rows.next()
  if (first.done === true) throw unknownFormat('yourls')
  async function* all(): AsyncGenerator<SourceRow> {
    yield first.value as SourceRow
    yield* rows
  }
  return { format: 'yourls', columns: kept, rows: all() }
}

async function* rowsOf(pieces: AsyncIterable<string>): AsyncGenerator<SourceRow> {
  const format = formatOfTable('yourls', new Set(kept))!
  const inserts = new Inserts()
  const scanner = new Scanner()
  let line = 0
  const row = (values: ReadonlyMap<string, string>): SourceRow => {
    const cell: Cell = (name) => values.get(name) ?? ''
    return { line: ++line, source: kept.map(cell), drafts: format.fromTable(cell) }
  }
  for await (const piece of pieces) {
    for (const token of scanner.push(piece)) {
      const values = inserts.take(token)
      if (values) yield row(values)
    }
    if (scanner.waiting > limits.importRecord) throw tooLong(line + 1)
  }
  if (scanner.isInside || inserts.isInside) throw malformed('it ends within a statement')
}

const malformed = (what: string): QuickLinkError => invalid('body', `body is not a whole mysqldump: ${what}.`)

const white = /[\s]+/y
const word = /[0-9A-Za-z_.+-]+/y
const special = /['\\]/g
const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '0': '\0', b: '\b', Z: '\u001a' }

/** Text to tokens. What is not whole yet waits for the next piece. */
class Scanner {
  #text = ''
  isInside = false

  get waiting(): number {
    return this.#text.length
  }

  *push(piece: string): Generator<Token> {
    this.#text += piece
    let at = 0
    for (;;) {
      const next = this.#next(at)
      if (next === undefined) break
      at = next.end
      if (next.token) yield next.token
    }
    this.#text = this.#text.slice(at)
    this.isInside = this.#text.trim() !== '' && !this.#text.startsWith('-')
  }

  #next(at: number): { readonly end: number; readonly token?: Token } | undefined {
    const text = this.#text
    const first = text[at]
    if (first === undefined) return undefined
    white.lastIndex = at
    if (white.test(text)) return { end: white.lastIndex }
    if (first === "'" || first === '"') return this.#string(at, first)
    if (first === '`') return this.#until(at, '`', (end) => ({ end: end + 1, token: ['name', text.slice(at + 1, end)] }))
    const two = text.slice(at, at + 2)
    if (two.length < 2 && '-/'.includes(first)) return undefined
    if (two === '--' || first === '#') return this.#until(at, '\n', (end) => ({ end: end + 1 }))
    if (two === '/*') return this.#until(at, '*/', (end) => ({ end: end + 2 }))
    word.lastIndex = at
    if (!word.test(text)) return { end: at + 1, token: ['mark', first] }
    // It may go on in the next piece.
    if (word.lastIndex === text.length) return undefined
    return { end: word.lastIndex, token: ['word', text.slice(at, word.lastIndex)] }
  } // prettier-ignore

  #until<T>(at: number, end: string, found: (end: number) => T): T | undefined {
    const place = this.#text.indexOf(end, at + end.length)
    return place === -1 ? undefined : found(place)
  }

  #string(at: number, quote: string): { readonly end: number; readonly token: Token } | undefined {
    const text = this.#text
    let [value, from] = ['', at + 1]
    const stops = quote === "'" ? special : /["\\]/g
    for (;;) {
      stops.lastIndex = from
      if (!stops.test(text)) return undefined
      const stop = stops.lastIndex - 1
      const after = text[stop + 1]
      if (after === undefined) return undefined
      value += text.slice(from, stop)
      if (text[stop] === '\\') value += escapes[after] ?? after
      else if (after === quote) value += quote
      else return { end: stop + 1, token: ['string', value] }
      from = stop + 2
    }
  }
}

/** Tokens to rows: of INSERTs into the table of links, whatever its prefix; all other statements are passed over. */
class Inserts {
  #state: 'begin' | 'into' | 'table' | 'columns' | 'values' | 'row' | 'other' = 'begin'
  #columns: readonly string[] = usual
  #table = ''
  #values: string[] = []
  #given: string[] = []

  get isInside(): boolean {
    return this.#state !== 'begin'
  }

  take([kind, text]: Token): ReadonlyMap<string, string> | undefined {
    if (kind === 'mark' && text === ';') {
      if (this.#state === 'row') throw malformed('a row is not closed')
      this.#state = 'begin'
      return undefined
    }
    const lower = kind === 'word' ? text.toLowerCase() : ''
    switch (this.#state) {
      case 'begin':
        this.#state = lower === 'insert' || lower === 'replace' ? 'into' : 'other'
        break
      case 'into':
        if (lower === 'into') this.#state = 'table'
        break
      case 'table':
        this.#takeTable([kind, text], lower)
        break
      case 'columns':
        if (kind === 'name' || kind === 'word') this.#given.push(text.toLowerCase())
        else if (text === ')') [this.#columns, this.#state] = [this.#given, 'table']
        break
      case 'values':
        if (text === '(' && kind === 'mark') [this.#values, this.#state] = [[], 'row']
        break
      case 'row':
        return this.#takeValue([kind, text], lower)
      case 'other':
    }
    return undefined
  }

  #takeTable([kind, text]: Token, lower: string): void {
    if (lower === 'values' || lower === 'value') {
      this.#state = /(?:^|_)url$/i.test(this.#table) ? 'values' : 'other'
      if (this.#state === 'values' && !['keyword', 'url'].every((name) => this.#columns.includes(name))) {
        throw malformed(`${this.#table} has no columns keyword and url`)
      }
      this.#table = ''
    } else if (kind === 'name' || kind === 'word') {
      // The last part of `database`.`table`.
      this.#table = text.slice(text.lastIndexOf('.') + 1)
      this.#columns = usual
    } else if (text === '(') [this.#given, this.#state] = [[], 'columns']
  }

  #takeValue([kind, text]: Token, lower: string): ReadonlyMap<string, string> | undefined {
    if (kind === 'string') this.#values.push(text)
    else if (kind === 'word') {
      // `_binary 'text'` is the text.
      if (!lower.startsWith('_')) this.#values.push(lower === 'null' ? '' : text)
    } else if (text === ')') {
      this.#state = 'values'
      if (this.#values.length !== this.#columns.length) throw malformed('a row has another number of values than its table')
      return new Map(this.#columns.map((name, n) => [name, this.#values[n] ?? '']))
    } else if (text !== ',') throw malformed('a value is neither text nor a number')
    return undefined
  } // prettier-ignore
}
