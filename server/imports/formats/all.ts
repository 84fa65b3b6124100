// The formats by their names, and which of them a file is.
import { bitly } from './bitly.ts'
import { dub } from './dub.ts'
import type { Format, Thing } from './format.ts'
import { kutt } from './kutt.ts'
import { quicklink } from './quicklink.ts'
import { shlink } from './shlink.ts'
import { yourls } from './yourls.ts'

/** In the order in which they are tried: a file of ours is recognised by the least. */
const formats = { shlink, kutt, dub, bitly, yourls, quicklink } as const satisfies Record<string, Format>

export type FormatName = keyof typeof formats
export const formatNames = ['quicklink', 'shlink', 'yourls', 'kutt', 'bitly', 'dub'] as const satisfies FormatName[]

export interface Recognised extends Format {
  readonly name: FormatName
}

const named = (name: FormatName): Recognised => ({ name, ...formats[name] })
const all = (Object.keys(formats) as FormatName[]).map(named)
const asked = (name: FormatName | 'auto'): readonly Recognised[] => (name === 'auto' ? all : [named(name)])

export const formatOfTable = (name: FormatName | 'auto', columns: ReadonlySet<string>): Recognised | undefined =>
  asked(name).find(({ isTable }) => isTable(columns))

export const formatOfThing = (name: FormatName | 'auto', thing: Thing): Recognised | undefined =>
  asked(name).find(({ isThing }) => isThing?.(thing))
