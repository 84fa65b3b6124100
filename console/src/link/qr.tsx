// The QR code of a link, drawn here, so that those of further domains need no other host.
import encodeQR from 'qr'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import type { Link } from '../api.ts'
import { Field } from '../parts/fields.tsx'
import { Panel, Problem } from '../parts/page.tsx'
import { saveFile } from '../parts/save-file.ts'
import { useWords } from '../words/words.tsx'

interface Drawing {
  /** Modules of a side, their white among them. */
  readonly side: number
  readonly path: string
  readonly squares: readonly (readonly [x: number, y: number])[]
}

function drawingOf(text: string, margin: number): Drawing {
  // The library draws a border of at least one.
  const modules = encodeQR(text, 'raw', { ecc: 'medium', border: 1 }).slice(1, -1).map((row) => row.slice(1, -1)) // prettier-ignore
  const squares = modules.flatMap((row, y) =>
    row.flatMap((isBlack, x) => (isBlack ? [[x + margin, y + margin] as const] : [])),
  )
  return {
    side: modules.length + 2 * margin,
    path: squares.map(([x, y]) => `M${x} ${y}h1v1h-1z`).join(''),
    squares,
  }
}

/** Each as a field for colours has it: a # and six hexadecimal digits. */
interface Colors {
  readonly color: string
  readonly background: string
}

/** As the server wants it of its own QR codes: what is lighter than its ground, or nearly as light, cameras do not read. */
const contrastMin = 4

/** As WCAG measures it; less than 1 where the ground is the darker one. */
function contrastOf({ color, background }: Colors): number {
  const luminanceOf = (hex: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  return (luminanceOf(background) + 0.05) / (luminanceOf(color) + 0.05)
}

const svgOf = ({ side, path }: Drawing, size: number, { color, background }: Colors): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" viewBox="0 0 ${side} ${side}" shape-rendering="crispEdges">` +
  `<path fill="${background}" d="M0 0h${side}v${side}H0z"/><path fill="${color}" d="${path}"/></svg>\n`

/** Each module a whole number of pixels: cameras and printers want straight edges. */
function paint({ side, squares }: Drawing, size: number, { color, background }: Colors): HTMLCanvasElement {
  const each = Math.max(1, Math.floor(size / side))
  const canvas = Object.assign(document.createElement('canvas'), { width: size, height: size })
  const begin = Math.floor((size - each * side) / 2)
  const context = canvas.getContext('2d')!
  context.fillStyle = background
  context.fillRect(0, 0, size, size)
  context.fillStyle = color
  for (const [x, y] of squares) context.fillRect(begin + x * each, begin + y * each, each, each)
  return canvas
}

const within = (text: string, least: number, most: number, usual: number): number => {
  const n = Number(text)
  return Number.isInteger(n) && text !== '' ? Math.min(most, Math.max(least, n)) : usual
}

export default function QrPanel({ link: { shortUrl, code } }: { readonly link: Link }) {
  const words = useWords()
  const [size, setSize] = useState('600')
  const [margin, setMargin] = useState('4')
  const [color, setColor] = useState('#000000')
  const [background, setBackground] = useState('#ffffff')
  const colors = { color, background }
  const isReadable = contrastOf(colors) >= contrastMin
  const drawing = drawingOf(shortUrl, within(margin, 0, 40, 4))
  const pixels = within(size, drawing.side, 4000, 600)
  return (
    <Panel title={words.qr.title}>
      <div className="qr">
        <svg
          viewBox={`0 0 ${drawing.side} ${drawing.side}`}
          shapeRendering="crispEdges"
          role="img"
          aria-label={words.qr.leads(shortUrl)}
        >
          <rect width={drawing.side} height={drawing.side} fill={background} />
          <path d={drawing.path} fill={color} />
        </svg>
        <div className="stack">
          <div className="pair">
            <Field label={words.qr.size} type="number" value={size} onChange={setSize} />
            <Field label={words.qr.margin} type="number" value={margin} onChange={setMargin} />
            <Field label={words.qr.color} type="color" value={color} onChange={setColor} />
            <Field label={words.qr.background} type="color" value={background} onChange={setBackground} />
          </div>
          {!isReadable && <Problem>{words.qr.contrast}</Problem>}
          <div className="row">
            <Button
              className="button small"
              isDisabled={!isReadable}
              onPress={() =>
                saveFile(new Blob([svgOf(drawing, pixels, colors)], { type: 'image/svg+xml' }), `${code}.svg`)
              }
            >
              SVG
            </Button>
            <Button
              className="button small"
              isDisabled={!isReadable}
              onPress={() =>
                paint(drawing, pixels, colors).toBlob((blob) => blob && saveFile(blob, `${code}.png`), 'image/png')
              }
            >
              PNG
            </Button>
          </div>
        </div>
      </div>
    </Panel>
  )
}
