// QR codes of short URLs, as SVG and PNG. The library finds the modules; what is drawn here is dark squares on a light ground.
import { crc32, deflateSync } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import encodeQR from 'qr'
import { limits } from '../limits.ts'
import { pause } from '../connections/deadline.ts'
import { invalid } from '../errors.ts'

/** Each as six hexadecimal digits, small ones. */
export interface Colors {
  readonly color: string
  readonly background: string
}

/** How much of it may be dirty or hidden: 7, 15, 25 or 30 %. */
const levels = { L: 'low', M: 'medium', Q: 'quartile', H: 'high' } as const

export interface Drawing {
  readonly form: 'svg' | 'png'
  /** Pixels of a side. */
  readonly size: number
  /** Modules of ground around it; the standard wants 4. */
  readonly margin: number
  readonly level: keyof typeof levels
}

const isLevel = (text: string): text is Drawing['level'] => Object.hasOwn(levels, text)

const names = new Set(['size', 'margin', 'level', 'color', 'background'])

/** Of a query. What is wrong is thrown as `invalid`; nothing of the query is repeated. */
export function parseDrawing(form: Drawing['form'], query: string): { drawing: Drawing; colors: Colors } {
  const given = new URLSearchParams(query)
  for (const name of new Set(given.keys())) {
    if (!names.has(name)) {
      throw invalid('query', 'A QR code takes size, margin, level, color and background, and nothing else.')
    }
    if (given.getAll(name).length > 1) throw invalid(name, `${name} must be given once.`)
  }
  const numberOf = (name: string, least: number, most: number, usual: number): number => {
    const text = given.get(name)
    if (text === null) return usual
    const value = /^\d{1,4}$/.test(text) ? Number(text) : NaN
    if (value >= least && value <= most) return value
    throw invalid(name, `${name} must be a whole number from ${least} to ${most}.`)
  }
  const size = numberOf('size', limits.qrSizeMin, limits.qrSizeMax, 300)
  const margin = numberOf('margin', 0, limits.qrMarginMax, 4)
  const level = given.get('level') ?? 'M'
  if (!isLevel(level)) throw invalid('level', `level must be one of: ${Object.keys(levels).join(', ')}.`)
  return { drawing: { form, size, margin, level }, colors: colorsIn(given) }
}

function colorsIn(given: URLSearchParams): Colors {
  const colorOf = (name: keyof Colors, usual: string): string => {
    const text = given.get(name) ?? usual
    if (!/^[\da-f]{6}$/i.test(text)) {
      throw invalid(name, `${name} must be six hexadecimal digits, without a #, such as ${usual}.`)
    }
    return text.toLowerCase()
  }
  const colors = { color: colorOf('color', '000000'), background: colorOf('background', 'ffffff') }
  if (contrastOf(colors) < limits.qrContrastMin) {
    throw invalid('color', `color must be darker than background, by a contrast of at least ${limits.qrContrastMin}: cameras do not read it otherwise.`) // prettier-ignore
  }
  return colors
}

/** As WCAG measures it, from 1 to 21; less than 1 where the ground is the darker one. */
export const contrastOf = ({ color, background }: Colors): number =>
  (luminanceOf(background) + 0.05) / (luminanceOf(color) + 0.05)

function luminanceOf(hex: string): number {
  const [red = 0, green = 0, blue = 0] = Array.from(Buffer.from(hex, 'hex'), (byte) => {
    const share = byte / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** A drawing that is not coloured yet: its bytes, between which the colours stand. */
export type Sketch = readonly Buffer[]

export function color(sketch: Sketch, form: Drawing['form'], { color, background }: Colors): Buffer {
  const between = form === 'png' ? [chunk('PLTE', Buffer.from(color + background, 'hex'))] : [Buffer.from(`#${background}`), Buffer.from(`#${color}`)] // prettier-ignore
  return Buffer.concat(sketch.flatMap((bytes, n) => [bytes, between[n] ?? empty]))
}
const empty = Buffer.alloc(0)

export function draw(text: string, { form, size, margin, level }: Drawing): Sketch {
  // The library draws a border of at least one.
  const bordered = encodeQR(text, 'raw', { ecc: levels[level], border: 1 })
  const modules = bordered.slice(1, -1).map((row) => row.slice(1, -1))
  const side = modules.length + 2 * margin
  if (size < side) throw invalid('size', `size must be at least ${side} with this margin and level.`)
  return form === 'svg' ? svgOf(modules, side, margin, size) : pngOf(modules, side, size)
}

type Modules = readonly (readonly boolean[])[]

/** Each run of dark modules in a row, from `begin` to before `end`. */
function eachRun(modules: Modules, see: (row: number, begin: number, end: number) => void): void {
  for (const [y, row] of modules.entries()) {
    for (let begin = row.indexOf(true); begin !== -1;) {
      const white = row.indexOf(false, begin)
      const end = white === -1 ? row.length : white
      see(y, begin, end)
      begin = row.indexOf(true, end)
    }
  }
}

/** A ground below it: on a dark page it would not be read. */
function svgOf(modules: Modules, side: number, margin: number, size: number): Sketch {
  let path = ''
  eachRun(modules, (y, begin, end) => {
    path += `M${begin + margin} ${y + margin}h${end - begin}v1h${begin - end}z`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" viewBox="0 0 ${side} ${side}" ` +
      `shape-rendering="crispEdges"><path fill="`,
    `" d="M0 0h${side}v${side}H0z"/><path fill="`,
    `" d="${path}"/></svg>\n`,
  ].map((part) => Buffer.from(part))
}

/** A module is a whole number of pixels, so that its edges are sharp; what is left over makes the margin wider. */
function pngOf(modules: Modules, side: number, size: number): Sketch {
  const scale = Math.floor(size / side)
  const first = (size - scale * modules.length) >> 1
  // One bit a pixel, 1 is the ground; each line begins with a byte that says it is not filtered.
  const line = 1 + Math.ceil(size / 8)
  const pixels = (canvas ??= Buffer.alloc((1 + limits.qrSizeMax / 8) * limits.qrSizeMax)).subarray(0, line * size)
  pixels.fill(0xff)
  for (let at = 0; at < pixels.length; at += line) pixels[at] = 0
  eachRun(modules, (y, begin, end) => {
    const row = (first + y * scale) * line + 1
    for (let x = first + begin * scale; x < first + end * scale; x++) pixels[row + (x >> 3)]! &= ~(128 >> (x & 7))
  })
  for (let y = 0; y < modules.length; y++) {
    const row = (first + y * scale) * line
    for (let n = 1; n < scale; n++) pixels.copyWithin(row + n * line, row, row + line)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(size, 0)
  header.writeUInt32BE(size, 4)
  // Bits of a sample, and that it is a place in the palette; compressed by deflate, without an interlace, is 0 each.
  header[8] = 1
  header[9] = 3
  return [
    Buffer.concat([pngSignature, chunk('IHDR', header)]),
    Buffer.concat([chunk('IDAT', deflateSync(pixels, compression)), chunk('IEND')]),
  ]
}
/** One for all, made with the first: half a megabyte for each would have the memory cleaned up again and again. */
let canvas: Buffer | undefined
/** For the same reason with little memory: lines repeat, so it need not look far back. */
const compression = { windowBits: 10, memLevel: 5 }
const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

function chunk(type: string, data = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

const bytesOf = (sketch: Sketch): number => sketch.reduce((sum, { length }) => sum + length, 0)

/** How long it rests after a drawing, of what that took: at most a fifth of the time is drawn. */
const restFactor = 4

/**
 * One after another, with rests: redirects share the processor, and strangers may ask for as many different ones as they
 * like. What was drawn lately is remembered, without its colours: these are put in for each, and so make nobody draw.
 */
export function createDrawings(drawNow: typeof draw = draw) {
  const drawn = new LRUCache<string, Sketch>({ maxSize: limits.qrDrawnBytes, sizeCalculation: bytesOf })
  let waiting = 0
  let turn: Promise<unknown> = Promise.resolve()
  return {
    /** Undefined: too many wait. */
    async draw(text: string, drawing: Drawing): Promise<Sketch | undefined> {
      const key = JSON.stringify([text, drawing])
      const known = drawn.get(key)
      if (known !== undefined) return known
      if (waiting >= limits.qrWaiting) return undefined
      const mine = Promise.withResolvers<unknown>()
      const before = turn
      turn = mine.promise
      waiting++
      await before
      waiting--
      const beganMs = performance.now()
      try {
        const sketch = drawn.get(key) ?? drawNow(text, drawing)
        drawn.set(key, sketch)
        return sketch
      } finally {
        void pause(restFactor * (performance.now() - beganMs)).then(mine.resolve)
      }
    },
  }
}
