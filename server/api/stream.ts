// Answers that have no bound: they are made as fast as the client takes them, and no faster. A client that takes nothing is let go as
// of any other answer (http-server.ts), and whatever it is, it ends after a while: what it reads is held open for it.
import type { Response } from 'express'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { limits } from '../limits.ts'
import { QuickLinkError } from '../errors.ts'
import type { Streamed } from './operation.ts'

/** Cut off, its connection ends without the last chunk: so no client takes a part for the whole. */
export async function sendStream(response: Response, { type, headers, parts }: Streamed): Promise<void> {
  const begin = (): Response =>
    response.writeHead(200, {
      'Content-Type': type,
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      ...headers,
    })
  if (response.req.method === 'HEAD') return void begin().end()
  const source = parts()[Symbol.asyncIterator]()
  const first = await source.next()
  begin()
  const signal = AbortSignal.timeout(limits.streamMs)
  try {
    await pipeline(Readable.from(rest(first, source), { highWaterMark: 1 }), response, { signal })
  } catch (error) {
    if (signal.aborted) throw new QuickLinkError('unavailable', 'An answer took too long to be read.', { cause: error })
    // It has left: there is nobody to tell.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error
  } finally {
    // Also where nobody has asked for more than the first part.
    await source.return?.()
  }
}

async function* rest(first: IteratorResult<string>, source: AsyncIterator<string>): AsyncGenerator<string> {
  for (let next = first; next.done !== true; next = await source.next()) yield next.value
}
