// JSON: a line for each link, or lists of links as the APIs of other shorteners answer them, one page or many, one after the other.
import { JSONParser } from '@streamparser/json'
import { limits } from '../../limits.ts'
import { invalid } from '../../errors.ts'
import { formatOfThing, type FormatName, type Recognised } from './all.ts'
import { textOf, type Draft, type Thing } from './format.ts'
import { tooDeep, tooLong, unknownFormat, type Reading, type SourceRow } from './reading.ts'

/** As our own table has them, so that a list of refused rows can be mended and sent again. */
const columns = ['code', 'url', 'title', 'note', 'tags', 'enabled', 'permanent', 'startsAt', 'expiresAt', 'expiredUrl', 'forwardQuery', 'monthlyHits', 'rules', 'hasPassword', 'clicks', 'createdBy', 'createdAt'] // prettier-ignore

/** Where lists stand in the answers: Shlink's, Kutt's, Bitly's, ours. */
const listsIn = ['$.shortUrls.data.*', '$.data.*', '$.links.*', '$.items.*']

const isThing = (value: unknown): value is Thing => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a first line is one link, and not a page of them. */
export function isLine(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return isThing(value) && !['shortUrls', 'data', 'links', 'items'].some((name) => name in value)
  } catch {
    return false
  }
}

export const readLines = (pieces: AsyncIterable<string>, asked: FormatName | 'auto'): Promise<Reading> =>
  readingOf(thingsOfLines(pieces), asked)

export const readLists = (
  pieces: AsyncIterable<string>,
  isList: boolean,
  asked: FormatName | 'auto',
): Promise<Reading> =>
  // prettier-ignore
  readingOf(thingsOfLists(pieces, isList), asked)

interface Found {
  readonly line: number
  /** Undefined: it is none, and `wrong` says what it is. */
  readonly thing?: Thing
}

async function* thingsOfLines(pieces: AsyncIterable<string>): AsyncGenerator<Found> {
  let [line, rest] = [0, '']
  const read = (text: string): Found => {
    if (text.length > limits.importRecord) throw tooLong(line)
    try {
      const value: unknown = JSON.parse(text)
      return isThing(value) ? { line, thing: value } : { line }
    } catch {
      return { line }
    }
  }
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > limits.importRecord) throw tooLong(line + lines.length + 1)
    for (const text of lines) {
      line++
      if (text.trim() !== '') yield read(text)
    }
  }
  line++
  if (rest.trim() !== '') yield read(rest)
}

async function* thingsOfLists(pieces: AsyncIterable<string>, isList: boolean): AsyncGenerator<Found> {
  const paths = isList ? ['$.*'] : listsIn
  // One document after the other, as a loop over pages writes them. Without `keepStack` what was told of is let go.
  const parser = new JSONParser({ paths, keepStack: false, separator: '' })
  let [line, since] = [0, 0]
  let found: Found[] = []
  parser.onValue = ({ value }) => {
    found.push(isThing(value) ? { line: ++line, thing: value } : { line: ++line })
    since = 0
  }
  const valid = (work: () => void): void => {
    try {
      work()
    } catch {
      throw invalid('body', `body is not valid JSON after row ${line}, or not whole.`)
    }
  }
  for await (const piece of pieces) {
    since += piece.length
    valid(() => parser.write(piece))
    yield* found
    found = []
    if (since > limits.importRecord) throw line === 0 ? unknownFormat('auto') : tooLong(line + 1)
  }
  valid(() => parser.end())
}

async function readingOf(things: AsyncGenerator<Found>, asked: FormatName | 'auto'): Promise<Reading> {
  const first = await things.next()
  if (first.done === true) throw unknownFormat(asked)
  mustBeShallow(first.value)
  const format = first.value.thing && formatOfThing(asked, first.value.thing)
  if (!format) throw unknownFormat(asked)
  async function* rows(format: Recognised): AsyncGenerator<SourceRow> {
    yield rowOf(format, first.value as Found)
    for await (const found of things) {
      mustBeShallow(found)
      yield rowOf(format, found)
    }
  }
  return { format: format.name, columns, rows: rows(format) }
}

/** Reading it is no trouble. What writes it again calls itself once a level, and would run out of stack. */
function mustBeShallow({ line, thing }: Found): void {
  if (isDeeper(thing, limits.importDepth)) throw tooDeep(line)
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1)))

function rowOf(format: Recognised, { line, thing }: Found): SourceRow {
  if (!thing) return { line, source: [], drafts: [], wrong: 'The row is not a JSON object.' }
  if (format.isThing?.(thing) !== true || !format.fromThing) {
    return { line, source: [], drafts: [], wrong: `The row is not a link of ${format.name}.` }
  }
  const drafts = format.fromThing(thing)
  return { line, source: sourceOf(drafts[0]), drafts }
}

function sourceOf(draft: Draft | undefined): string[] {
  if (!draft) return []
  const { code, hasPassword, fields } = draft
  const said: Thing = { ...fields, code, hasPassword }
  return columns.map((name) => {
    const value = said[name]
    if (value === undefined || value === null) return ''
    if (name === 'tags' && Array.isArray(value)) return value.map(String).join('|')
    return textOf(value) ?? ''
  })
}
