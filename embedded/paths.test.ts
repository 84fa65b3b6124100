import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { rotate } from './paths.ts'

test('of a log, as many old ones are kept as there are generations, and none is larger than the bound', () => {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-rotate-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'x.log')
  const bound = { maxMb: 0.001, generations: 3 }
  expect(rotate(path, bound)).toBe(false)
  writeFileSync(path, 'short')
  expect(rotate(path, bound)).toBe(false)
  for (const text of ['a', 'b', 'c', 'd', 'e']) {
    writeFileSync(path, text.repeat(2000))
    expect(rotate(path, bound)).toBe(true)
  }
  expect(readdirSync(dir).toSorted()).toEqual(['x.log.1', 'x.log.2', 'x.log.3'])
  expect([1, 2, 3].map((age) => readFileSync(`${path}.${age}`, 'utf8')[0])).toEqual(['e', 'd', 'c'])
})
