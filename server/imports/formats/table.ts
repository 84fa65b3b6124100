// Files that are tables: a header, and a row for each link. Commas, semicolons or tabs between the cells, as the header has them.
import { parse, CsvError } from 'csv-parse'
import { pipeline, Readable } from 'node:stream'
import { limits } from '../../limits.ts'
import { invalid } from '../../errors.ts'
import { formatOfTable, type FormatName } from './all.ts'
import type { Cell, Draft } from './format.ts'
import { unknownFormat, type Reading, type SourceRow } from './reading.ts'

interface Parsed {
  readonly record: string[]
  readonly info: { readonly lines: number }
}

/** Where somebody has written a code of their own choice for a row that was refused. */
const newCode = 'newcode'
/** What our list of refused rows adds to the columns of the file. */
const ours: ReadonlySet<string> = new Set(['line', 'reason', newCode])

/** `header`: the first line, as far as it is known. */
export async function readTable(
  header: string,
  pieces: AsyncIterable<string>,
  asked: FormatName | 'auto',
): Promise<Reading> {
  const parser = parse({
    delimiter: delimiterOf(header),
    bom: true,
    info: true,
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: limits.importRecord,
  })
  // What goes wrong before the parser is heard of behind it.
  pipeline(Readable.from(pieces), parser, () => undefined)
  const records = recordsOf(parser)
  const first = await records.next()
  if (first.done === true) throw invalid('body', 'body is empty: send a file of links.')
  const names = first.value.record.map((name) => name.trim())
  if (names.length > limits.importColumns) {
    throw invalid('body', `body must be a table of at most ${limits.importColumns} columns.`)
  }
  const places = new Map(names.map((name, n) => [name.toLowerCase(), n] as const))
  const format = formatOfTable(asked, new Set(places.keys()))
  if (!format) throw unknownFormat(asked)
  const kept = names.flatMap((name, n) => (ours.has(name.toLowerCase()) ? [] : [n]))
  // What we have written has one quote before whatever a spreadsheet would take for a formula.
  const isOurs = format.name === 'quicklink' || (places.has('line') && places.has('reason'))
  const plain = isOurs ? (text: string): string => (text.startsWith("'") ? text.slice(1) : text) : undefined

  const row = ({ record }: Parsed, line: number): SourceRow => {
    const cells = plain ? record.map(plain) : record
    const source = kept.map((n) => cells[n] ?? '')
    if (record.length !== names.length) {
      const wrong = `The row has ${record.length} cells, and the header ${names.length}.`
      return { line, source, drafts: [], wrong }
    }
    const cell: Cell = (name) => cells[places.get(name) ?? -1] ?? ''
    const chosen = cell(newCode).trim()
    const drafts = format.fromTable(cell)
    const named: readonly Draft[] = chosen === '' ? drafts : drafts.slice(0, 1).map((draft) => ({ ...draft, code: chosen })) // prettier-ignore
    return { line, source, drafts: named }
  }
  async function* rows(): AsyncGenerator<SourceRow> {
    let line = first.value!.info.lines + 1
    for await (const parsed of records) {
      yield row(parsed, line)
      line = parsed.info.lines + 1
    }
  }
  return { format: format.name, columns: kept.map((n) => names[n] ?? ''), rows: rows() }
}

async function* recordsOf(parser: AsyncIterable<unknown>): AsyncGenerator<Parsed, undefined> {
  try {
    for await (const parsed of parser) yield parsed as Parsed
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const at = typeof error['lines'] === 'number' ? ` at line ${error['lines']}` : ''
    throw invalid(
      'body',
      error.code === 'CSV_MAX_RECORD_SIZE'
        ? `body has a row of more than ${limits.importRecord} characters${at}: is a quote missing there?`
        : `body is not a valid table${at}: a quote that was opened is not closed.`,
    )
  }
  return undefined
}

function delimiterOf(header: string): string {
  const count = (delimiter: string): number => header.split(delimiter).length
  return [',', ';', '\t'].reduce((best, next) => (count(next) > count(best) ? next : best))
}
