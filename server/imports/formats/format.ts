// What the files of other shorteners have in common: rows, each of which says something of one link, or of two.

/** What a row says of a link, as the API would be told it; what is wrong with it is found in row.ts. */
export interface Draft {
  /** Undefined or '': it gets one of ours. */
  readonly code?: string | undefined
  /** Of our own files only: the hosts of others mean nothing here. */
  readonly domain?: string | null | undefined
  readonly hasPassword?: boolean | undefined
  /** `url`, `title`, `tags`, …: `importedSchema` in links/input.ts. What is undefined is not said. */
  readonly fields: Readonly<Record<string, unknown>>
  /** What it cannot have here. */
  readonly warnings?: readonly string[]
}

/** A cell of a table by the name of its column, in lower case; '' where there is none. */
export type Cell = (name: string) => string
export type Thing = Readonly<Record<string, unknown>>

export interface Format {
  /** Whether a table with these columns, in lower case, is one. */
  readonly isTable: (columns: ReadonlySet<string>) => boolean
  readonly fromTable: (cell: Cell) => readonly Draft[]
  /** Whether an object of a JSON file is one; absent: there are no such files. */
  readonly isThing?: (thing: Thing) => boolean
  readonly fromThing?: (thing: Thing) => readonly Draft[]
}

export const has = (columns: ReadonlySet<string>, ...names: string[]): boolean =>
  names.every((name) => columns.has(name))

/** '' says nothing. */
export const said = (text: string): string | undefined => (text === '' ? undefined : text)

/** null and '' say nothing. */
export const some = (value: unknown): unknown => (value === null || value === '' ? undefined : value)

/** Of what should be text, and may be a number. */
export const textOf = (value: unknown): string | undefined =>
  value === undefined || value === null ? undefined : typeof value === 'string' ? value : JSON.stringify(value)

export const tagsOf = (text: string, between: string): string[] | undefined => {
  const tags = text.split(between).filter((tag) => tag.trim() !== '')
  return tags.length === 0 ? undefined : tags
}

const likeNumber = /^\d{1,15}$/

/** As a number where it is one; else as it is, so that it is refused by its name. */
export const numberOf = (text: string): unknown =>
  text === '' ? undefined : likeNumber.test(text) ? Number(text) : text

export const yesOrNo = (text: string): unknown => {
  const word = text.toLowerCase()
  return word === '' ? undefined : word === 'true' ? true : word === 'false' ? false : text
}

const likeTime = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d(?:\.\d{1,9})?) ?(Z|UTC|[+-]\d\d:?\d\d)?)?$/
const unixSeconds = /^\d{9,10}$/
const longestTime = 40

/** RFC 3339, whichever of the usual ways it is written in; without a zone it is UTC. What is none stays as it is, and is refused. */
export function timeOf(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? timeOf(String(value)) : value
  if (typeof value !== 'string') return some(value)
  const text = value.trim()
  if (text === '' || text.startsWith('0000-00-00')) return undefined
  const [, day, time = '00:00:00', zone = 'Z'] = likeTime.exec(text) ?? []
  if (day !== undefined) return `${day}T${time}${zone === 'UTC' ? 'Z' : zone.replace(/^([+-]\d\d):?(\d\d)$/, '$1:$2')}`
  const ms = unixSeconds.test(text) ? Number(text) * 1000 : text.length <= longestTime ? Date.parse(text) : NaN
  return Number.isFinite(ms) ? new Date(ms).toISOString() : text
}

/** What stands behind the host of a short URL, with or without its scheme; '' where nothing does. */
export function codeOfUrl(text: string): string {
  const withoutScheme = text.trim().replace(/^https?:\/\//i, '')
  const slash = withoutScheme.indexOf('/')
  const path =
    slash === -1
      ? ''
      : withoutScheme
          .slice(slash + 1)
          .split(/[?#]/, 1)[0]!
          .replace(/\/$/, '')
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
