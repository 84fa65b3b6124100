import { createWriteStream, renameSync, rmSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { addFilters, filtersIn, type Filters } from './filters.ts'
import { Complaint } from './output.ts'
import { sessionOf } from './session.ts'

interface Wanted extends Filters {
  readonly format?: string
  readonly output?: string
}

export function addExport(program: Command): void {
  addFilters(program.command('export'))
    .description('all links that fit, to a file or the standard output')
    .option('--format <format>', '`csv`, or `ndjson`: a line of JSON for each link')
    .option('-o, --output <file>', 'a file, which is there when all of it has come')
    .action(async ({ format, output, ...wanted }: Wanted, command: Command) => {
      const { api, say } = sessionOf(command)
      const { json = false } = command.optsWithGlobals<{ json?: boolean }>()
      const likely = json || output?.endsWith('json') === true ? 'ndjson' : 'csv'
      if (format !== undefined && !['csv', 'ndjson'].includes(format)) throw new Complaint('--format must be csv or ndjson.', 2) // prettier-ignore
      const query = { ...filtersIn(wanted), format: (format ?? likely) as 'csv' | 'ndjson' }
      const body = await say.answer(api.GET('/links/export', { params: { query }, parseAs: 'stream' }))
      if (output === undefined) return void (await take(body, process.stdout))
      const file = `${output}.part`
      try {
        const bytes = await take(body, createWriteStream(file))
        renameSync(file, output)
        say.made({ file: output, format: query.format, bytes }, `${output} has ${sizeOf(bytes)}.`)
      } catch (error) {
        rmSync(file, { force: true })
        throw error
      }
    })
}

/** Answers how many bytes it took. Who watches a terminal sees it grow. */
async function take(body: ReadableStream<Uint8Array>, into: NodeJS.WritableStream): Promise<number> {
  const isWatched = process.stderr.isTTY && (into !== process.stdout || !process.stdout.isTTY)
  let bytes = 0
  let shownMs = performance.now()
  const counted = async function* (parts: AsyncIterable<Uint8Array>) {
    for await (const part of parts) {
      bytes += part.length
      if (isWatched && performance.now() - shownMs > 200) {
        shownMs = performance.now()
        process.stderr.write(`\r${sizeOf(bytes)} `)
      }
      yield part
    }
  }
  try {
    await pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), counted, into, { end: into !== process.stdout }) // prettier-ignore
  } catch (error) {
    const { code, syscall, path } = error as NodeJS.ErrnoException
    if (code === 'EPIPE') return bytes
    if (syscall !== undefined && path !== undefined) throw new Complaint(`${path} cannot be written (${code}).`, 1)
    throw new Complaint('The export broke off: ask again.', 3)
  } finally {
    if (isWatched) process.stderr.write('\r\x1b[K')
  }
  return bytes
}

const sizeOf = (bytes: number): string =>
  bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
