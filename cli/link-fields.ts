// What a link can be given, as options of `links create` and `links edit`.
import { readFileSync } from 'node:fs'
import { InvalidArgumentError, type Command } from 'commander'
import type { NewLink } from '../clients/typescript/client.ts'
import { Complaint } from './output.ts'
import { readSecret } from './secret.ts'

type Rules = NonNullable<NewLink['rules']>

export interface Wanted {
  readonly title?: string
  readonly note?: string
  readonly tags?: string
  readonly permanent?: boolean
  readonly starts?: string
  readonly expires?: string
  readonly expiredUrl?: string
  readonly forwardQuery?: boolean
  readonly hits?: number | null
  readonly rules?: string
  readonly password?: boolean
}

export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number above 0.')
}

const monthlyHits = (text: string): number | null => (text === 'none' ? null : wholeNumber(text))

export const addFields = (command: Command): Command =>
  command
    .option('--title <text>', "what people call it; '' for none")
    .option('--note <text>', "for the team; '' for none")
    .option('--tags <names>', "all that it has then, with commas between; '' for none")
    .option('--permanent', 'answer 301 instead of 302')
    .option('--no-permanent', 'answer 302')
    .option('--starts <time>', 'from when on it leads there, like 2030-01-31T12:00:00Z, or `now`')
    .option('--expires <time>', 'until when, or `never`')
    .option('--expired-url <url>', 'where it leads after that, or `none`')
    .option('--forward-query', "say the visitor's query to the target, too")
    .option('--no-forward-query', 'do not')
    .option('--hits <number>', 'how often in a month, or `none` for no limit', monthlyHits)
    .option('--rules <file>', 'JSON: [{"when":{"os":"ios"},"url":"https://…"}], the first that fits; or `none`')
    .option('--password', 'visitors are asked for the one that is typed now, or piped in')
    .option('--no-password', 'they are not')

/** Undefined where nothing was said; null for the word that means none. */
const unless = <T>(none: string, value: T | undefined): T | null | undefined => (value === none ? null : value)

export const listOf = (names: string): string[] => names.split(',').flatMap((name) => name.trim() || [])

function rulesIn(file: string | undefined): Rules | null | undefined {
  if (file === undefined) return undefined
  if (file === 'none') return null
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Rules
  } catch (error) {
    throw new Complaint(`${file} cannot be read as JSON: ${(error as Error).message}`, 2)
  }
}

async function password(wanted: boolean | undefined): Promise<string | null | undefined> {
  if (wanted === undefined) return undefined
  if (!wanted) return null
  const typed = await readSecret('Password')
  if (typed === '') throw new Complaint('No password was given: type it, or pipe it in.', 2)
  return typed
}

/** In the names of the API, without what was not said. */
export async function fieldsOf(wanted: Wanted) {
  const fields = {
    title: wanted.title,
    note: wanted.note,
    tags: wanted.tags === undefined ? undefined : listOf(wanted.tags),
    permanent: wanted.permanent,
    startsAt: unless('now', wanted.starts),
    expiresAt: unless('never', wanted.expires),
    expiredUrl: unless('none', wanted.expiredUrl),
    forwardQuery: wanted.forwardQuery,
    monthlyHits: wanted.hits,
    rules: rulesIn(wanted.rules),
    password: await password(wanted.password),
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof typeof fields]?: Exclude<(typeof fields)[K], undefined>
  }
}
