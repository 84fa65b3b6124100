// What is told about a link beside where it leads: /{code}.svg and /{code}.png are its QR code, /{code}+ is a page that
// shows where it leads. Neither is a click or a hit. They are asked of node:http, and cost redirects nothing.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { QuickLinkError } from '../errors.ts'
import type { Code, Link } from '../link.ts'
import type { Asker, Decisions } from './outcome.ts'
import { broken, cannotSay, Page, sniffing, tooManyDrawings } from './pages.ts'
import { previewPage } from './preview.ts'
import { color, createDrawings, parseDrawing, type Colors, type Drawing } from './qr.ts'
import type { Site } from './sites.ts'

export interface AsideDeps {
  readonly decisions: Pick<Decisions, 'look'>
  readonly shortUrlOf: (code: Code) => string
  /** Whether the tenant of a link lets everybody see where it leads. */
  readonly mayPreview: (linkId: number) => Promise<boolean | 'unknown'>
  readonly onError: (error: unknown) => void
}

export interface Aside {
  /** Of the link, if it is one. */
  readonly path: string
  readonly of: Drawing['form'] | 'preview'
}

/** No code has a dot or a plus. */
export function asideOf(path: string): Aside | undefined {
  if (path.endsWith('+')) return { path: path.slice(0, -1), of: 'preview' }
  if (path.endsWith('.svg')) return { path: path.slice(0, -4), of: 'svg' }
  if (path.endsWith('.png')) return { path: path.slice(0, -4), of: 'png' }
  return undefined
}

interface Sent {
  send(req: IncomingMessage, res: ServerResponse): void
}

/** Answers always: an error is a page, too. */
export type Asides = (aside: Aside, site: Site, asker: Asker) => Promise<Sent>

export function createAsides({ decisions, shortUrlOf, mayPreview, onError }: AsideDeps): Asides {
  const drawings = createDrawings()
  const preview = async (link: Link, site: Site): Promise<Page> => {
    const may = await mayPreview(link.id)
    if (may === 'unknown') return cannotSay
    // Where a password guards it, nobody here knows where it leads.
    return may && link.special !== 'password' ? previewPage(shortUrlOf(link.code), link.url) : site.notFound
  }
  const qrCode = async (link: Link, { drawing, colors }: { drawing: Drawing; colors: Colors }): Promise<Sent> => {
    const sketch = await drawings.draw(shortUrlOf(link.code), drawing)
    return sketch === undefined ? tooManyDrawings : pictureOf(color(sketch, drawing.form, colors), drawing.form)
  }
  return async ({ path, of }, site, asker) => {
    try {
      const asked = of === 'preview' ? undefined : parseDrawing(of, asker.query ?? '')
      const link = await decisions.look(site, path, asker)
      if (link instanceof Page) return link
      return await (asked === undefined ? preview(link, site) : qrCode(link, asked))
    } catch (error) {
      if (error instanceof QuickLinkError) return Page.of(error)
      onError(error)
      return broken
    }
  }
}

/** It shows an address and nothing else, so that a cache may keep it longer than the link lives. */
const pictureOf = (image: Buffer, form: Drawing['form']): Sent => ({
  send(req, res) {
    res.writeHead(200, {
      'Cache-Control': 'public, max-age=3600',
      'Content-Type': form === 'svg' ? 'image/svg+xml' : 'image/png',
      'Content-Length': image.length,
      'Content-Security-Policy': "default-src 'none'",
      ...sniffing,
    })
    res.end(req.method === 'HEAD' ? undefined : image)
  },
})
