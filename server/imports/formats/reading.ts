// What is read of a file, whatever it is.
import { QuickLinkError, invalid } from '../../errors.ts'
import { limits } from '../../limits.ts'
import type { FormatName } from './all.ts'
import type { Draft } from './format.ts'

export interface SourceRow {
  /** In the file; in JSON that is not a line for each link, and in SQL, the number of the row. */
  readonly line: number
  /** What it has in the columns of the reading. */
  readonly source: readonly string[]
  readonly drafts: readonly Draft[]
  /** Why nothing can be made of it. */
  readonly wrong?: string
}

export interface Reading {
  readonly format: FormatName
  readonly columns: readonly string[]
  readonly rows: AsyncIterable<SourceRow>
}

export const unknownFormat = (asked: FormatName | 'auto'): QuickLinkError =>
  new QuickLinkError(
    'unsupported_format',
    asked === 'auto'
      ? 'This is none of the files that are known: a CSV with a header, NDJSON or JSON of QuickLink, Shlink, YOURLS, Kutt, Bitly or Dub, or a mysqldump of yourls_url.'
      : `This is not a file of ${asked}: leave format out, and it is recognised.`,
  )

export const tooLong = (line: number): QuickLinkError =>
  invalid('body', `body has a row of more than ${limits.importRecord} characters at row ${line}.`)

export const tooDeep = (line: number): QuickLinkError =>
  invalid('body', `body has lists or objects nested more than ${limits.importDepth} deep at row ${line}: no link has.`)
