// A file becomes parts that wait in Postgres, each as large as one transaction is to be. The next one is read when the last one is kept:
// so a sender is never faster than the database. Nobody sees the import until all of it is there.
import type { By } from '../api/operation.ts'
import { changesOf } from '../audit/changes.ts'
import { note } from '../audit/store.ts'
import { limits } from '../limits.ts'
import type { Postgres } from '../connections/postgres.ts'
import { QuickLinkError, invalid } from '../errors.ts'
import type { FormatName } from './formats/all.ts'
import { readFile } from './formats/read.ts'
import { isFull, rowsOf, sizeOf, type RowTerms, type StagedRow } from './row.ts'
import { addPart, beginImport, queueImport, removeImport, type ImportRow, type NewImport } from './store.ts'

interface Receiving {
  readonly made: NewImport
  readonly asked: FormatName | 'auto'
  readonly terms: RowTerms
  readonly by: By
}

export async function receive(db: Postgres, text: AsyncIterable<string>, receiving: Receiving): Promise<ImportRow> {
  const { made, asked, terms, by } = receiving
  if (!(await db.transaction((sql) => beginImport(sql, made)))) {
    const sentence = `This tenant has ${limits.importsWaiting} imports that are not done: wait for one of them, or delete it.`
    throw new QuickLinkError('rate_limited', sentence, { retryAfterS: 10 })
  }
  try {
    const { format, columns, rows: all } = await readFile(text, asked)
    let [rows, parts, chars] = [0, 0, 0]
    let part: StagedRow[] = []
    const keep = async (): Promise<void> => {
      if (part.length === 0) return
      await addPart(db, made.id, parts++, part)
      part = []
      chars = 0
    }
    for await (const source of all) {
      for (const row of rowsOf(source, terms)) {
        if (++rows > limits.importRows) throw tooMany()
        part.push(row)
        chars += sizeOf(row)
      }
      if (isFull(part.length, chars)) await keep()
    }
    await keep()
    if (rows === 0) throw invalid('body', 'body has no links: send a file with at least one.')
    const queued = await db.transaction(async (sql) => {
      const row = await queueImport(sql, made.id, { rows, format, columns })
      const { tenant, onConflict, dryRun } = made
      note(sql, by, { tenant, kind: 'import', target: made.id, changes: changesOf({ after: { format, rows, onConflict, dryRun } }) }) // prettier-ignore
      return row
    })
    if (!queued) throw new QuickLinkError('conflict', 'This import was deleted while its file was coming.')
    return queued
  } catch (error) {
    // What cannot be removed now, upkeep removes.
    await removeImport(db, made.id, null).catch(() => undefined)
    throw error
  }
}

const tooMany = (): QuickLinkError =>
  new QuickLinkError(
    'too_large',
    `A file must not have more than ${limits.importRows.toLocaleString('en')} links: send it in parts.`,
  )
