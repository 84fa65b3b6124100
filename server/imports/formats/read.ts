// What kind of a file this is, by how it begins.
import { limits } from '../../limits.ts'
import { invalid } from '../../errors.ts'
import type { FormatName } from './all.ts'
import { looksLikeDump, readDump } from './dump.ts'
import { isLine, readLines, readLists } from './json.ts'
import { readTable } from './table.ts'
import { unknownFormat, type Reading } from './reading.ts'

export async function readFile(pieces: AsyncIterable<string>, asked: FormatName | 'auto'): Promise<Reading> {
  const { head, all } = await peek(pieces)
  const [first] = head
  if (first === undefined) throw invalid('body', 'body is empty: send a file of links.')
  if (first === '[') return readLists(all, true, asked)
  if (first === '{') return isLine(head.split('\n', 1)[0]!) ? readLines(all, asked) : readLists(all, false, asked)
  if (looksLikeDump(head)) {
    if (asked !== 'auto' && asked !== 'yourls') throw unknownFormat(asked)
    return readDump(all)
  }
  return readTable(head.split('\n', 1)[0]!, all, asked)
}

/** The first line that says something, or as much of it as there may be; and all of it, again. */
async function peek(pieces: AsyncIterable<string>): Promise<{ head: string; all: AsyncIterable<string> }> {
  const rest = pieces[Symbol.asyncIterator]()
  let text = ''
  for (;;) {
    text = text.trimStart()
    if (text.includes('\n') || text.length > limits.importRecord) break
    const next = await rest.next()
    if (next.done === true) break
    text += next.value
  }
  async function* all(): AsyncGenerator<string> {
    yield text
    yield* { [Symbol.asyncIterator]: () => rest }
  }
  return { head: text, all: all() }
}
