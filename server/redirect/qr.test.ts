import { decode } from 'fast-png'
import decodeQR from 'qr/decode.js'
import { expect, test } from 'vitest'
import { limits } from '../limits.ts'
import { color, contrastOf, createDrawings, draw as sketch, parseDrawing, type Drawing } from './qr.ts'

const usual = { color: '000000', background: 'ffffff' }
const draw = (text: string, drawing: Drawing, colors = usual): Buffer => color(sketch(text, drawing), drawing.form, colors) // prettier-ignore

const longest = `https://go.example.org/${'a'.repeat(64)}`

/** As a camera would see it, through a decoder of PNG that is not ours. */
function readPng(png: Buffer): { text: string; width: number; height: number } {
  const { width, height, data, depth } = decode(png, { checkCrc: true })
  expect(depth).toBe(1)
  const line = Math.ceil(width / 8)
  return { width, height, text: scan(width, height, (x, y) => (data[y * line + (x >> 3)]! & (128 >> (x & 7))) === 0) }
}

/** The subset of SVG that is drawn, a pixel each. */
function readSvg(svg: string): string {
  const side = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)![1])
  const black = new Set<string>()
  for (const [, x, y, length] of svg.split('<path')[2]!.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)) {
    for (let n = 0; n < Number(length); n++) black.add(`${Number(x) + n} ${y}`)
  }
  return scan(8 * side, 8 * side, (x, y) => black.has(`${x >> 3} ${y >> 3}`))
}

function scan(width: number, height: number, isBlack: (x: number, y: number) => boolean): string {
  const data = new Uint8Array(width * height * 4).fill(255)
  for (let n = 0; n < width * height; n++) if (isBlack(n % width, Math.floor(n / width))) data.fill(0, n * 4, n * 4 + 3)
  return decodeQR({ width, height, data })
}

test.each(['L', 'M', 'Q', 'H'] as const)('level %s reads back as the short URL, as PNG and as SVG', (level) => {
  for (const text of ['http://localhost:8080/abc', longest]) {
    expect(readPng(draw(text, { form: 'png', size: 400, margin: 4, level })).text).toBe(text)
    expect(readSvg(draw(text, { form: 'svg', size: 400, margin: 4, level }).toString())).toBe(text)
  }
})

test.each([150, 301, 777, limits.qrSizeMax])('a PNG of %i pixels is exactly as large, and reads back', (size) => {
  const png = draw(longest, { form: 'png', size, margin: 4, level: 'M' })
  expect(readPng(png)).toEqual({ text: longest, width: size, height: size })
})

test('what does not fit into the size is refused with the size that would do', () => {
  const drawing = { form: 'png', margin: 4, level: 'H' } as const
  expect(() => draw(longest, { ...drawing, size: 60 })).toThrow('size must be at least 61')
  expect(readPng(draw(longest, { ...drawing, size: 61 })).text).toBe(longest)
})

test('without parameters it has 300 pixels, the margin that the standard wants, and level M', () => {
  expect(parseDrawing('svg', '')).toEqual({ drawing: { form: 'svg', size: 300, margin: 4, level: 'M' }, colors: usual })
  expect(parseDrawing('png', 'size=2000&margin=0&level=H&color=00004D&background=ffffee')).toEqual({
    drawing: { form: 'png', size: 2000, margin: 0, level: 'H' },
    colors: { color: '00004d', background: 'ffffee' },
  })
})

test('colours are those that were asked for, in the SVG and in the palette of the PNG, and both read back', () => {
  const colors = { color: '7a1010', background: 'fff4d6' }
  const drawing = { size: 400, margin: 4, level: 'M' } as const
  const svg = draw(longest, { ...drawing, form: 'svg' }, colors).toString()
  expect(Array.from(svg.matchAll(/fill="(#\w+)"/g), ([, fill]) => fill)).toEqual(['#fff4d6', '#7a1010'])
  expect(readSvg(svg)).toBe(longest)
  const png = draw(longest, { ...drawing, form: 'png' }, colors)
  expect(decode(png).palette).toEqual([[0x7a, 0x10, 0x10], [0xff, 0xf4, 0xd6]]) // prettier-ignore
  expect(readPng(png).text).toBe(longest)
})

test('contrast is that of WCAG', () => {
  expect(contrastOf(usual)).toBeCloseTo(21, 5)
  expect(contrastOf({ color: '767676', background: 'ffffff' })).toBeCloseTo(4.54, 2)
  expect(contrastOf({ color: 'ffffff', background: '000000' })).toBeLessThan(1)
})

test.each([
  ['size=2001', 'size must be a whole number from 50 to 2000.'],
  ['size=1e3', 'size must be a whole number from 50 to 2000.'],
  ['size=', 'size must be a whole number from 50 to 2000.'],
  ['margin=-1', 'margin must be a whole number from 0 to 40.'],
  ['level=X', 'level must be one of: L, M, Q, H.'],
  ['level=toString', 'level must be one of: L, M, Q, H.'],
  ['size=100&size=200', 'size must be given once.'],
  ['colour=red', 'A QR code takes size, margin, level, color and background, and nothing else.'],
  ['color=red', 'color must be six hexadecimal digits, without a #, such as 000000.'],
  ['color=%23000000', 'color must be six hexadecimal digits, without a #, such as 000000.'],
  ['background="><script>', 'background must be six hexadecimal digits, without a #, such as ffffff.'],
  ['background=fff', 'background must be six hexadecimal digits, without a #, such as ffffff.'],
  ['color=ffffff&background=000000', 'color must be darker than background, by a contrast of at least 4'],
  ['color=999999', 'color must be darker than background, by a contrast of at least 4'],
])('%s is refused in one sentence', (query, sentence) => {
  expect(() => parseDrawing('png', query)).toThrow(sentence)
})

const drawingOf = (size: number): Drawing => ({ form: 'png', size, margin: 4, level: 'M' })

test('the same is drawn once; of those that ask at once, all get it', async () => {
  let drawn = 0
  const drawings = createDrawings(() => [Buffer.alloc(++drawn)])
  const all = await Promise.all([drawingOf(100), drawingOf(100), drawingOf(200)].map((one) => drawings.draw('a', one)))
  expect(all.map((made) => made?.[0]?.length)).toEqual([1, 1, 2])
  expect((await drawings.draw('a', drawingOf(100)))?.[0]?.length).toBe(1)
  expect((await drawings.draw('b', drawingOf(100)))?.[0]?.length).toBe(3)
})

test('between two drawings it rests four times as long as one takes', async () => {
  const took: [beganMs: number, endedMs: number][] = []
  const drawings = createDrawings(() => {
    const beganMs = performance.now()
    while (performance.now() - beganMs < 10);
    took.push([beganMs, performance.now()])
    return [Buffer.alloc(1)]
  })
  await Promise.all([100, 101, 102].map((size) => drawings.draw('a', drawingOf(size))))
  expect(took).toHaveLength(3)
  for (const n of [1, 2]) expect(took[n]![0] - took[n - 1]![1]).toBeGreaterThanOrEqual(39)
})

test('beyond those that may wait nobody is drawn for, and a drawing that fails lets the next one begin', async () => {
  let drawn = 0
  const drawings = createDrawings(() => {
    if (++drawn === 1) throw new Error('the first one fails')
    return [Buffer.alloc(1)]
  })
  const all = Array.from({ length: limits.qrWaiting + 5 }, (_, n) => drawings.draw('a', drawingOf(n + 50)))
  const settled = await Promise.allSettled(all)
  const count = (is: (one: (typeof settled)[number]) => boolean): number => settled.filter(is).length
  expect(count(({ status }) => status === 'rejected')).toBe(1)
  expect(count((one) => one.status === 'fulfilled' && one.value === undefined)).toBe(5)
})
