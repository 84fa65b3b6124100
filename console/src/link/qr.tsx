// The QR code of a link, drawn here, so that those of further domains need no other host.
import encodeQR from 'qr'
import { useState } from 'react'
import { Button } from 'react-aria-components/Button'
import type { Link } from '../api.ts'
import { Field } from '../parts/fields.tsx'
import { Panel } from '../parts/page.tsx'
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

const svgOf = ({ side, path }: Drawing, size: number): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" viewBox="0 0 ${side} ${side}" shape-rendering="crispEdges">` +
  `<path fill="#fff" d="M0 0h${side}v${side}H0z"/><path d="${path}"/></svg>\n`

/** Each module a whole number of pixels: cameras and printers want straight edges. */
function paint({ side, squares }: Drawing, size: number): HTMLCanvasElement {
  const each = Math.max(1, Math.floor(size / side))
  const canvas = Object.assign(document.createElement('canvas'), { width: size, height: size })
  const begin = Math.floor((size - each * side) / 2)
  const context = canvas.getContext('2d')!
  context.fillStyle = '#fff'
  context.fillRect(0, 0, size, size)
  context.fillStyle = '#000'
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
          <rect width={drawing.side} height={drawing.side} fill="#fff" />
          <path d={drawing.path} fill="#000" />
        </svg>
        <div className="stack">
          <div className="pair">
            <Field label={words.qr.size} type="number" value={size} onChange={setSize} />
            <Field label={words.qr.margin} type="number" value={margin} onChange={setMargin} />
          </div>
          <div className="row">
            <Button
              className="button small"
              onPress={() => saveFile(new Blob([svgOf(drawing, pixels)], { type: 'image/svg+xml' }), `${code}.svg`)}
            >
              SVG
            </Button>
            <Button
              className="button small"
              onPress={() =>
                paint(drawing, pixels).toBlob((blob) => blob && saveFile(blob, `${code}.png`), 'image/png')
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
