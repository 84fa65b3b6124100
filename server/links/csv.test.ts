import fc from 'fast-check'
import { expect, test } from 'vitest'
import { csvLine } from './csv.ts'

/** RFC 4180; then one apostrophe is taken off each cell that begins with one. */
function read(line: string): string[] {
  const rest = `${line.replace(/\r\n$/, '')},`
  const cells = [...rest.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*)),/gy)]
  expect(cells.map(([cell]) => cell).join('')).toBe(rest)
  return cells.map(([, quoted, plain = '']) => (quoted?.replaceAll('""', '"') ?? plain).replace(/^'/, ''))
}

const text = fc.string({
  unit: fc.constantFrom('a', 'ü', ' ', '"', ',', '\r', '\n', '\t', "'", '=', '+', '-', '@', '|'),
})

test('whoever reads a line, and takes one apostrophe off each cell that begins with one, has what was written', () => {
  const cells = fc.array(text, { minLength: 1 })
  fc.assert(
    fc.property(cells, (cells) => {
      expect(read(csvLine(cells))).toEqual(cells)
    }),
  )
})

test('no cell begins as a formula does', () => {
  const line = csvLine(['=1+1', '+1', '-1', '@a', '\tx', '\rx', "'x", 'x=1', ''])
  expect(line).toBe(`'=1+1,'+1,'-1,'@a,'\tx,"'\rx",''x,x=1,\r\n`)
})
