import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { randomUUID } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { clicksIn, fromLine, toLine, type Spooled } from './batch.ts'
import { isAlive, nameOf, parseName, self } from './holder.ts'
import { Spool, spooledBytes, takeOver, type Position } from './spool.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'quicklink-spool-'))
  return () => rmSync(root, { recursive: true, force: true })
})

const batch = (number: number, rows: Spooled['rows'] = [[7, number, 0]]): Spooled => ({
  number,
  hourMs: 0,
  rows,
  dropped: 0,
  totals: { accepted: number, dropped: 0 },
})
const fileOf = (spool: Spool): string => join(spool.dir, readdirSync(spool.dir).sort().at(-1)!)

async function all(spool: Spool, isOver = true): Promise<{ numbers: number[]; damaged: number }> {
  const numbers: number[] = []
  let damaged = 0
  for (let at: Position | undefined; ;) {
    const page = await spool.read(at, isOver)
    numbers.push(...page.batches.map(({ number }) => number))
    damaged += page.damaged
    at = page.next
    if (page.isEnd) return { numbers, damaged }
  }
}

describe('a batch', () => {
  it('whose figures can be none is damaged; of a row that is none only the row is left out', () => {
    const read = (change: object): Spooled | undefined => fromLine(toLine({ ...batch(3), ...change }).trimEnd())
    for (const wrong of [1.5, -1, '7', null, 2 ** 53]) {
      expect(read({ number: wrong })).toBeUndefined()
      expect(read({ hourMs: wrong })).toBeUndefined()
      expect(read({ dropped: wrong })).toBeUndefined()
      expect(read({ totals: { accepted: wrong, dropped: 0 } })).toBeUndefined()
      expect(read({ rows: [[7, wrong, 0]] })).toBeUndefined()
      expect(read({ rows: [[7, 1, 0], [wrong, 2, 0], [8, 3, wrong]] })).toMatchObject({ rows: [[7, 1, 0]], impossible: 5 }) // prettier-ignore
    }
    expect(read({ hourMs: 8.64e15 + 3_600_000 })).toBeUndefined()
    for (const wrong of [undefined, null, 7, {}, [7], [null]]) expect(read({ rows: wrong })).toBeUndefined()
    expect(read({ totals: undefined })).toBeUndefined()
  })

  it('is a line that is read back, or not at all', () => {
    const line = toLine(batch(3)).trimEnd()
    expect(fromLine(line)).toEqual(batch(3))
    for (let at = 0; at < line.length; at++) {
      const flipped = line.slice(0, at) + String.fromCharCode(line.charCodeAt(at) ^ 1) + line.slice(at + 1)
      expect(fromLine(flipped)).toBeUndefined()
      expect(fromLine(line.slice(0, at))).toBeUndefined()
    }
  })
})

describe('a spool', () => {
  it('keeps its batches in order, over several files', async () => {
    const spool = Spool.own(root)
    const rows: Spooled['rows'] = Array.from({ length: 3000 }, (_, id) => [1_000_000 + id, 1, 0])
    for (let number = 1; number <= 30; number++) await spool.append(batch(number, rows))
    expect(readdirSync(spool.dir).length).toBeGreaterThan(3)
    expect(await all(spool)).toEqual({ numbers: Array.from({ length: 30 }, (_, n) => n + 1), damaged: 0 })
    expect((await spool.last())?.number).toBe(30)
    expect(await spooledBytes(root)).toBeGreaterThan(1_000_000)
    expect(clicksIn(rows)).toBe(3000)
  })

  it('skips a torn last line, and a damaged one in the middle, and counts them', async () => {
    const spool = Spool.own(root)
    for (let number = 1; number <= 3; number++) await spool.append(batch(number))
    const whole = readFileSync(fileOf(spool), 'latin1')
    writeFileSync(fileOf(spool), whole.replace('[[7,2,0]]', '[[7,9,0]]') + toLine(batch(4)).slice(0, 20))
    expect(await all(spool)).toEqual({ numbers: [1, 3], damaged: 2 })
    expect((await spool.last())?.number).toBe(3)
  })

  it('does not take a line for torn that is still being written', async () => {
    const spool = Spool.own(root)
    await spool.append(batch(1))
    const next = toLine(batch(2))
    appendFileSync(fileOf(spool), next.slice(0, 20))
    const page = await spool.read(undefined, false)
    expect([page.batches.length, page.damaged, page.isEnd]).toEqual([1, 0, true])
    appendFileSync(fileOf(spool), next.slice(20))
    expect((await spool.read(page.next, false)).batches).toEqual([batch(2)])
  })

  it('begins a file after a write that failed, so that nothing follows half a line', async () => {
    const spool = Spool.own(root)
    mkdirSync(spool.dir)
    symlinkSync('/dev/full', join(spool.dir, '000001.log'))
    await expect(spool.append(batch(1))).rejects.toThrow('ENOSPC')
    await spool.append(batch(1))
    await spool.append(batch(2))
    rmSync(join(spool.dir, '000001.log'))
    expect(readdirSync(spool.dir)).toEqual(['000002.log'])
    expect(await all(spool)).toEqual({ numbers: [1, 2], damaged: 0 })
  })

  it('that was taken away is not written to', async () => {
    const spool = Spool.own(root)
    await spool.append(batch(1))
    renameSync(spool.dir, `${spool.dir}.gone`)
    await expect(spool.append(batch(2))).rejects.toThrow('ENOENT')
  })
})

describe('a spool changes hands', () => {
  let id: string
  beforeEach(() => (id = randomUUID()))
  const leave = (holder: typeof self): string => {
    const dir = join(root, nameOf(id, holder))
    mkdirSync(dir)
    writeFileSync(join(dir, '000001.log'), toLine(batch(1)))
    return dir
  }

  it('when its holder is dead, once, with its id', async () => {
    leave({ ...self, pid: 2 ** 22 + 1 })
    const takers = await Promise.all(Array.from({ length: 5 }, () => takeOver(root)))
    const taken = takers.flat()
    expect(taken.map((spool) => spool.id)).toEqual([id])
    expect(readdirSync(root)).toEqual([nameOf(id)])
    expect((await all(taken[0]!)).numbers).toEqual([1])
    expect(await takeOver(root)).toEqual([])
  })

  it('when another process has the number of its holder', async () => {
    leave({ ...self, began: '1' })
    expect((await takeOver(root)).length).toBe(1)
  })

  it('not while its holder lives, nor while one on another host may', async () => {
    const parent = { host: self.host, pid: process.ppid, began: '0' }
    leave(parent)
    expect(await takeOver(root)).toEqual([])
    const stranger = { host: 'elsewhere', pid: 1, began: '1' }
    expect(isAlive(stranger, 1_000_000, 1_030_000)).toBe(true)
    expect(isAlive(stranger, 1_000_000, 1_061_000)).toBe(false)
  })

  it('and nothing else under DATA_DIR is touched', async () => {
    mkdirSync(join(root, 'lost+found'))
    expect(await takeOver(root)).toEqual([])
    expect(parseName('lost+found')).toBeUndefined()
    expect(await takeOver(join(root, 'missing'))).toEqual([])
  })
})
