// What people and programs read: tables or JSON on the standard output, complaints on the other.

/** What is wrong, in one sentence that says what to do. 1: the server said no · 2: asked wrongly · 3: nobody answered. */
export class Complaint extends Error {
  readonly exitCode: 1 | 2 | 3
  constructor(message: string, exitCode: 1 | 2 | 3) {
    super(message)
    this.exitCode = exitCode
  }
}

/** What comes from others may hold anything: a terminal is given nothing that it would obey. */
const plain = (text: string): string => text.replace(/\p{C}/gu, '�')

const cell = (value: unknown): string => {
  if (value === null || value === undefined) return '–'
  if (Array.isArray(value)) return value.length === 0 ? '–' : value.map(cell).join(', ')
  return plain(typeof value === 'string' ? value : JSON.stringify(value))
}

type Row = Readonly<Record<string, unknown>>

/** "shortUrl" → "SHORT URL". */
const headingOf = (name: string): string => name.replaceAll(/(?=[A-Z])/g, ' ').toUpperCase()

/** A line each, under the names of the columns. */
export function tableOf(rows: readonly Row[], columns: readonly string[]): string {
  const cells = [columns.map(headingOf), ...rows.map((row) => columns.map((name) => cell(row[name])))]
  const widths = columns.map((_, n) => Math.max(...cells.map((line) => line[n]!.length)))
  return cells.map((line) => line.map((text, n) => text.padEnd(widths[n]!)).join('  ').trimEnd()).join('\n')
} // prettier-ignore

/** One thing, a line for each of its fields. */
export function listOf(thing: Row): string {
  const width = Math.max(...Object.keys(thing).map((name) => name.length))
  return Object.entries(thing)
    .map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`)
    .join('\n')
}
