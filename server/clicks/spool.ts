// A spool: a directory of its own for every process, under DATA_DIR/spool, with files of one batch per line.
//
//   <id>@<host>@<pid>@<began>/000001.log
//
// The id is random and names the spool in Postgres for ever. The rest of the name says who holds it, and changes hands in
// one atomic rename: a process that finds a spool whose holder is dead takes it over, sends what is left, and removes it.
// Files are opened anew for every batch: a holder that was wrongly declared dead finds its directory gone, and begins a
// new spool, instead of writing where nobody reads.
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { fromLine, toLine, type Spooled } from './batch.ts'
import { isAlive, nameOf, parseName, self } from './holder.ts'

/** Of a file: small enough to be read at once, large enough that it lasts for a while. */
const fileBytes = 256 * 1024
/** Longer than the longest line: a batch of `limits.clickLinks` links. */
export const readBytes = 8 * 1024 * 1024

export interface Position {
  readonly file: string
  readonly offset: number
}

export interface Page {
  readonly batches: readonly Spooled[]
  /** Lines that are no batch: torn by a crash, or damaged. */
  readonly damaged: number
  readonly next: Position | undefined
  /** Nothing follows, for now. */
  readonly isEnd: boolean
}

/** Spools of this process: what bears its name and is not among them, an app has left that was stopped in it. */
const live = new Set<string>()

export class Spool {
  readonly id: string
  readonly dir: string
  /** Its folder has been made. It is an id before: what is given up meanwhile is booked under it. */
  isThere = false
  #files = 0
  #bytes = 0
  /** Files up to this one have been made shorter, as far as they could be. */
  #shortened = ''

  constructor(root: string, id: string) {
    this.id = id
    this.dir = join(root, nameOf(id))
  }

  static own(root: string): Spool {
    const spool = new Spool(root, randomUUID())
    live.add(spool.id)
    return spool
  }

  /** On disk when it resolves. Where it rejects it may be written again: a number is counted once. */
  async append(batch: Spooled): Promise<void> {
    const line = toLine(batch)
    // Once: a folder that is gone later has been taken over.
    if (!this.isThere) await mkdir(this.dir, { recursive: true, mode: 0o700 })
    this.isThere = true
    if (this.#bytes === 0) this.#files++
    const handle = await open(join(this.dir, fileName(this.#files)), 'a', 0o600)
    try {
      this.#bytes += line.length
      await handle.appendFile(line)
      await handle.datasync()
      if (this.#bytes >= fileBytes) this.#bytes = 0
    } catch (error) {
      // Half a line may be there: the next one begins a file.
      this.#bytes = 0
      throw error
    } finally {
      await handle.close()
    }
  }

  /** What follows a position. `isOver`: nobody writes any more, so a last line without its end is torn. */
  async read(from: Position | undefined, isOver: boolean): Promise<Page> {
    const files = await this.#list()
    const file = from === undefined ? files[0] : files.find((name) => name >= from.file)
    if (file === undefined) return { batches: [], damaged: 0, next: from, isEnd: true }
    const offset = file === from?.file ? from.offset : 0
    const bytes = await readAt(join(this.dir, file), offset)
    const isLast = file === files.at(-1)
    const wholeFile = bytes.length < readBytes
    const end = bytes.lastIndexOf(10) + 1
    const lines = end === 0 ? [] : bytes.toString('latin1', 0, end - 1).split('\n')
    const batches = lines.map(fromLine).filter((batch) => batch !== undefined)
    const torn = end < bytes.length && (wholeFile ? isOver || !isLast : end === 0)
    const damaged = lines.length - batches.length + (torn ? 1 : 0)
    const following = files[files.indexOf(file) + 1]
    if (wholeFile && following !== undefined) {
      return { batches, damaged, next: { file: following, offset: 0 }, isEnd: false }
    }
    const next = { file, offset: offset + (torn ? bytes.length : end) }
    return { batches, damaged, next, isEnd: wholeFile }
  }

  /**
   * Writes the oldest file anew that nobody has read or appends to, each batch as `shorter` has it. In one rename: whoever takes the
   * spool over meanwhile has the one or the other, with the same clicks. False: there is none.
   */
  async shorten(read: Position | undefined, shorter: (batch: Spooled) => Spooled): Promise<boolean> {
    const files = await this.#list()
    const name = files.slice(0, -1).find((file) => file > (read?.file ?? '') && file > this.#shortened)
    if (name === undefined) return false
    const path = join(this.dir, name)
    const text = (await readAt(path, 0)).toString('latin1')
    const lines = text.split('\n').map((line) => {
      const batch = fromLine(line)
      return batch === undefined || batch.impossible !== undefined ? line : toLine(shorter(batch)).trimEnd()
    })
    const handle = await open(`${path}.shorter`, 'w', 0o600)
    try {
      await handle.writeFile(lines.join('\n'), 'latin1')
      await handle.datasync()
    } finally {
      await handle.close()
    }
    await rename(`${path}.shorter`, path)
    this.#shortened = name
    return true
  }

  /** Files before this one have been sent. */
  async removeBefore({ file }: Position): Promise<void> {
    for (const name of await this.#list()) if (name < file) await rm(join(this.dir, name), { force: true })
  }

  async remove(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true })
    this.release()
  }

  /** The files stay, for whoever takes them over. */
  release(): void {
    live.delete(this.id)
  }

  /** The last batch that is whole. */
  async last(): Promise<Spooled | undefined> {
    for (const name of (await this.#list()).reverse()) {
      const lines = (await readAt(join(this.dir, name), 0)).toString('latin1').split('\n').reverse()
      for (const line of lines) {
        const batch = fromLine(line)
        if (batch) return batch
      }
    }
    return undefined
  }

  async #list(): Promise<string[]> {
    const names = await readdir(this.dir).catch(() => [])
    return names.filter((name) => name.endsWith('.log')).sort()
  }
}

const fileName = (n: number): string => `${String(n).padStart(6, '0')}.log`

async function readAt(path: string, offset: number): Promise<Buffer> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const buffer = Buffer.alloc(Math.max(0, Math.min(readBytes, size - offset)))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** Spools whose holder is dead, and which are this process' now. */
export async function takeOver(root: string): Promise<Spool[]> {
  const taken: Spool[] = []
  for (const name of await readdir(root).catch(() => [])) {
    const found = parseName(name)
    if (!found || live.has(found.id)) continue
    try {
      const { mtimeMs } = await lastTouched(join(root, name))
      if (live.has(found.id) || (!isOwn(found.holder) && isAlive(found.holder, mtimeMs))) continue
      const spool = new Spool(root, found.id)
      live.add(spool.id)
      await rename(join(root, name), spool.dir).catch((error: unknown) => {
        live.delete(spool.id)
        throw error
      })
      taken.push(spool)
    } catch {
      // Another process was faster.
    }
  }
  return taken
}

const isOwn = ({ pid, host, began }: typeof self): boolean =>
  pid === self.pid && host === self.host && began === self.began

async function lastTouched(dir: string): Promise<{ mtimeMs: number }> {
  const files = await readdir(dir)
  const times = await Promise.all([dir, ...files.map((name) => join(dir, name))].map(async (path) => stat(path)))
  return { mtimeMs: Math.max(...times.map(({ mtimeMs }) => mtimeMs)) }
}

/** Bytes of all spools of this DATA_DIR. */
export async function spooledBytes(root: string): Promise<number> {
  let bytes = 0
  for (const name of await readdir(root).catch(() => [])) {
    for (const file of await readdir(join(root, name)).catch(() => [])) {
      bytes += await stat(join(root, name, file)).then(
        ({ size }) => size,
        () => 0,
      )
    }
  }
  return bytes
}
