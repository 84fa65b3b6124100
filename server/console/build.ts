// What `npm run -s console` has left: each file in the forms that it is sent in. All of it is in memory, so that a build that
// is made anew under a running server breaks no page that is open.
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

type Coding = 'br' | 'gzip' | 'identity'

export interface Asset {
  readonly type: string
  readonly forms: Readonly<Partial<Record<Coding, Buffer>>> & { readonly identity: Buffer }
}

export interface Build {
  /** With `{{names}}` where each visitor has something else. */
  readonly index: string
  /** By their names, which change with what is in them. */
  readonly assets: ReadonlyMap<string, Asset>
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const suffixes = { br: '.br', gzip: '.gz' } as const

/** Undefined: there is none. */
export function readBuild(dir: string): Build | undefined {
  try {
    const index = readFileSync(join(dir, 'index.html'), 'utf8')
    const names = new Set(readdirSync(join(dir, 'assets')))
    const assets = [...names].flatMap((name) => {
      const type = types[extname(name)]
      return type === undefined ? [] : [[name, { type, forms: formsOf(dir, name, names) }] as const]
    })
    return { index, assets: new Map(assets) }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function formsOf(dir: string, name: string, names: ReadonlySet<string>): Asset['forms'] {
  const read = (file: string): Buffer => readFileSync(join(dir, 'assets', file))
  const forms: { br?: Buffer; gzip?: Buffer; identity: Buffer } = { identity: read(name) }
  for (const coding of ['br', 'gzip'] as const) {
    const packed = name + suffixes[coding]
    if (names.has(packed)) forms[coding] = read(packed)
  }
  return forms
}

/** The shortest form that is taken. */
export function codingFor(accepted: string, { forms }: Asset): Coding {
  const taken = accepted.split(',').map((each) => each.trim().toLowerCase())
  const takes = (coding: Coding): boolean =>
    forms[coding] !== undefined && taken.some((each) => each === coding || (each.startsWith(`${coding};`) && !/;\s*q=0(\.0*)?$/.test(each))) // prettier-ignore
  return takes('br') ? 'br' : takes('gzip') ? 'gzip' : 'identity'
}
