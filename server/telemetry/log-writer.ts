// Where log lines go. The program never waits for their reader, and a log that breaks does not break the program:
// what cannot be written is dropped and counted. Decision 14 says why it is done like this.
import { close, constants, fstatSync, open, openSync, stat, write, writeSync } from 'node:fs'
import { ConfigError } from '../config.ts'
import { limits } from '../limits.ts'

export type LogWriter = ReturnType<typeof openLogWriter>

type Bounds = Readonly<Pick<typeof limits, 'logQueueBytes' | 'logRetryMs' | 'logFlushMs' | 'logLookMs'>>
type Failure = Pick<NodeJS.ErrnoException, 'code'> | null

interface Output {
  fd: number
  /** It can wait for a disk, so another thread writes to it. The others answer EAGAIN instead of waiting. */
  readonly slow: boolean
  readonly alone: boolean
  /** Calls back at once, unless the output has to be opened anew. */
  ready(then: () => void): void
}

/** Lines written before the event loop has its turn; another thread takes them together. */
const linesAtOnce = 100
const newline = Buffer.from('\n')

/** To standard output, or to a file, which may be renamed meanwhile. */
export function openLogWriter(path?: string, bounds: Bounds = limits) {
  const output = path === undefined ? standardOutput() : fileOutput(path, bounds.logLookMs)
  const queue: Buffer[] = []
  /** Of what is under way. */
  let rest: Buffer | undefined
  let begun = false
  /** The end of a line was dropped after its beginning was written: the next one must not become part of it. */
  let torn = false
  let queued = 0
  let busy = false
  let dropped = 0

  const next = (): Buffer | undefined => {
    if (rest) return rest
    // Each line by itself where others write, too: a pipe takes a short one whole or not at all.
    const lines = queue.splice(0, output.slow ? linesAtOnce : 1)
    if (lines.length === 0) return undefined
    for (const line of lines) queued -= line.length
    return Buffer.concat(torn ? [newline, ...lines] : lines)
  }
  /** True: it would have to wait. */
  const settle = (lines: Buffer, failure: Failure, written: number): boolean => {
    if (failure?.code === 'EAGAIN') {
      rest = lines
      return true
    }
    rest = failure === null && written < lines.length ? lines.subarray(written) : undefined
    if (failure) {
      dropped += Math.max(1, lines.toString('latin1').split('\n').length - 1)
      torn ||= begun
    } else if (!rest) torn = false
    begun = rest !== undefined
    return false
  }
  const resume = (): void => {
    busy = false
    pump()
  }

  const pump = (): void => {
    if (busy) return
    busy = true
    if (output.slow) writeElsewhere()
    else writeHere()
  }
  const writeHere = (): void => {
    for (let lines = 0; lines < linesAtOnce; lines++) {
      const line = next()
      if (!line) {
        busy = false
        return
      }
      if (settle(line, ...tryWrite(output.fd, line))) {
        setTimeout(resume, bounds.logRetryMs).unref()
        return
      }
    }
    setImmediate(resume)
  }
  const writeElsewhere = (): void => {
    output.ready(() => {
      const line = next()
      if (!line) {
        busy = false
        return
      }
      // While it is being written it is not `rest`: a flush meanwhile goes on with the line after it.
      rest = undefined
      write(output.fd, line, (failure, written) => {
        settle(line, failure, written)
        resume()
      })
    })
  }

  /** Writes what waits, as far as it is taken within a moment. For the end of the process. */
  const flushSync = (): void => {
    const endMs = performance.now() + bounds.logFlushMs
    for (let line = next(); line; line = next()) {
      if (!settle(line, ...tryWrite(output.fd, line))) continue
      if (performance.now() >= endMs) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
  process.once('exit', flushSync)

  return {
    write(line: string): void {
      const bytes = Buffer.from(line)
      if (queued + bytes.length > bounds.logQueueBytes) {
        dropped++
        return
      }
      queued += bytes.length
      queue.push(bytes)
      pump()
    },
    flushSync,
    /** Only one process may use this output: the workers of this one get outputs that end here. */
    alone: output.alone,
    /** Lines dropped since the last call. */
    takeDropped(): number {
      const count = dropped
      dropped = 0
      return count
    },
  }
}

function tryWrite(fd: number, line: Buffer): [Failure, number] {
  try {
    return [null, writeSync(fd, line)]
  } catch (error) {
    return [error as NodeJS.ErrnoException, 0]
  }
}

function standardOutput(): Output {
  const inherited = { fd: 1, ready: always }
  // Not opened anew: only the inherited one knows where in the file it stands.
  if (fstatSync(inherited.fd).isFile()) return { ...inherited, slow: true, alone: false }
  try {
    // One that is ours alone: whoever shares the pipe or the terminal goes on as before.
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
    const fd = openSync('/proc/self/fd/1', O_WRONLY | O_NONBLOCK | O_NOCTTY)
    return { fd, slow: false, alone: false, ready: always }
  } catch {
    // A socket (systemd's journal), or no /proc. Node makes what it takes as its standard output non-blocking, and has no
    // other way to do that. Each process that inherits it makes it blocking again, for all: so none may.
    void process.stdout
    return { ...inherited, slow: false, alone: true }
  }
}

const always = (then: () => void): void => then()

function fileOutput(path: string, lookMs: number): Output {
  const mode = 0o600
  let lookedMs = performance.now()
  const output = { fd: openFirst(path, mode), slow: true, alone: false, ready }
  let inode = fstatSync(output.fd).ino

  function ready(then: () => void): void {
    const nowMs = performance.now()
    if (nowMs - lookedMs < lookMs) {
      then()
      return
    }
    lookedMs = nowMs
    stat(path, (missing, found) => {
      if (!missing && found.ino === inode) {
        then()
        return
      }
      open(path, 'a', mode, (failed, fd) => {
        // What cannot be opened anew now will be at the next look; until then the old one has the lines.
        if (!failed) {
          close(output.fd, () => undefined)
          output.fd = fd
          inode = fstatSync(fd).ino
        }
        then()
      })
    })
  }
  return output
}

function openFirst(path: string, mode: number): number {
  try {
    return openSync(path, 'a', mode)
  } catch (error) {
    throw new ConfigError(`LOG_FILE names ${path}, which cannot be opened (${(error as NodeJS.ErrnoException).code}).`)
  }
}
