// The file as it comes: counted, in small pieces, and not faster than they are worked on. Who sends slowly, or nothing, holds a place
// of its own tenant and nothing else.
import type { Request } from 'express'
import { limits } from '../limits.ts'
import { QuickLinkError, invalid } from '../errors.ts'

/** What a file may come as. What is in it is looked at, not what it is called. */
const importTypes = ['text/csv', 'application/x-ndjson', 'application/json', 'application/sql', 'application/octet-stream', 'text/plain', 'text/tab-separated-values'] as const // prettier-ignore

export interface BodyBounds {
  readonly maxBytes: number
  readonly idleMs: number
  readonly wholeMs: number
}

const tooLarge = (maxBytes: number): QuickLinkError =>
  new QuickLinkError(
    'too_large',
    `A file must not be larger than ${maxBytes / 1_048_576} MB: send it in parts, or set IMPORT_MAX_MB.`,
  )

const notUtf8 = (): QuickLinkError =>
  invalid('body', 'body must be UTF-8 text: save the file with that encoding, and send it again.')

/** What can be said before any of it is read. */
export function refuseBody(request: Pick<Request, 'headers' | 'is'>, { maxBytes }: BodyBounds): void {
  if (!request.is([...importTypes])) {
    throw new QuickLinkError('unsupported_format', `The body must be a file, with a Content-Type like ${importTypes.slice(0, 3).join(', ')}.`) // prettier-ignore
  }
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') {
    throw new QuickLinkError('unsupported_format', 'The body must come without a Content-Encoding.')
  }
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

/** Others are served between two pieces. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** UTF-8 without the mark at its beginning. Throws where it is no UTF-8, too large or too late. */
export async function* textOf(request: Request, bounds: BodyBounds): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (bytes?: Uint8Array): string => {
    try {
      return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode()
    } catch {
      throw notUtf8()
    }
  }
  for await (const piece of pieces(chunksOf(request, bounds))) {
    yield decode(piece)
    await turn()
  }
  const end = decode()
  if (end !== '') yield end
}

/** Of one size, whatever they come in: what is not whole yet is looked at again with the next one. */
async function* pieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    waiting.push(chunk)
    bytes += chunk.length
    if (bytes < limits.importPiece) continue
    const whole = waiting.length === 1 ? chunk : Buffer.concat(waiting, bytes)
    const end = bytes - (bytes % limits.importPiece)
    for (let at = 0; at < end; at += limits.importPiece) yield whole.subarray(at, at + limits.importPiece)
    waiting = [whole.subarray(end)]
    bytes -= end
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes)
}

async function* chunksOf(request: Request, { maxBytes, idleMs, wholeMs }: BodyBounds): AsyncGenerator<Buffer> {
  let bytes = 0
  let waiting: NodeJS.Timeout | undefined
  const late = (): void => void request.destroy()
  const whole = setTimeout(late, wholeMs)
  try {
    const chunks = request.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]() as AsyncIterator<Buffer>
    for (;;) {
      // Only while we wait: what we do with a piece is not the sender's time.
      waiting = setTimeout(late, idleMs)
      const next = await chunks.next().catch(notWhole)
      clearTimeout(waiting)
      if (next.done === true) return request.complete ? undefined : notWhole()
      bytes += next.value.length
      if (bytes > maxBytes) throw tooLarge(maxBytes)
      yield next.value
    }
  } finally {
    clearTimeout(waiting)
    clearTimeout(whole)
  }
}

/** Its sender has left, or was let go: nobody hears of it. */
function notWhole(): never {
  throw invalid('body', 'body did not come whole: send the file again.')
}

/** Reads on for a while, so that who still sends hears the answer, and not that the connection is gone. */
export function drain(request: Request): Promise<void> {
  if (request.readableEnded || request.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, limits.importDrainMs)
    for (const event of ['end', 'close', 'error']) request.once(event, resolve)
    request.once('close', () => clearTimeout(timer)).resume()
  })
}
