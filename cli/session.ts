// What every command has: the API of the server that is meant, and how its answers are said.
import type { Command } from 'commander'
import { quickLink, type Problem, type QuickLinkApi } from '../clients/typescript/client.ts'
import { listOf, tableOf, Complaint } from './output.ts'
import { findProfile, type Profile } from './profile.ts'

interface Answer<T> {
  readonly data?: T | undefined
  readonly error?: unknown
  readonly response: Response
}

export interface Say {
  /** What was answered; a complaint where that is an error. */
  answer<T>(asked: Promise<Answer<T>>): Promise<NonNullable<T>>
  /** What was asked for has no answer but that it is done. */
  done(asked: Promise<Answer<unknown>>, sentence: string): Promise<void>
  thing(thing: object): void
  /** `line`: of people's most wanted. */
  made(thing: object, line: string): void
  /** `thing`: for programs, where that is not the rows. */
  rows(rows: readonly object[], columns: readonly string[], none: string, thing?: object): void
}

export function sessionOf(command: Command): { api: QuickLinkApi; say: Say; profile: Profile } {
  const { json = false, profile: name } = command.optsWithGlobals<{ json?: boolean; profile?: string }>()
  const profile = findProfile(process.env, name)
  return { api: quickLink(profile), say: sayOf(profile.url, json, (field) => typedAs(command, field)), profile }
}

const spelledOtherwise: Readonly<Record<string, string>> = { startsAt: 'starts', expiresAt: 'expires', monthlyHits: 'hits' } // prettier-ignore

/** What of the command line became a field of the request. */
function typedAs(command: Command, field: string): string | undefined {
  if (field === 'body' && command.registeredArguments[0]?.name() === 'file') return command.args[0]
  const name = spelledOtherwise[field] ?? field
  return command.options.find((option) => option.attributeName() === name)?.long
}

type Typed = (field: string) => string | undefined

export function sayOf(url: string, json: boolean, typed: Typed = () => undefined): Say {
  const print = (thing: unknown, text: string): void => console.log(json ? JSON.stringify(thing, null, 2) : text)
  const complete = async <T>(asked: Promise<Answer<T>>): Promise<T | undefined> => {
    const { data, error, response } = await asked.catch((reason: unknown) => unreachable(url, reason))
    if (response.ok) return data
    throw new Complaint(sentenceOf(url, error, response, typed), 1)
  }
  return {
    async answer(asked) {
      const data = await complete(asked)
      if (data === undefined || data === null) throw new Complaint(`${url} answers, but not as QuickLink does: is this its address?`, 3) // prettier-ignore
      return data
    },
    async done(asked, sentence) {
      await complete(asked)
      if (!json) console.log(sentence)
    },
    thing: (thing) => print(thing, listOf(thing as Record<string, unknown>)),
    made: (thing, line) => print(thing, line),
    rows: (rows, columns, none, thing = rows) =>
      print(thing, rows.length === 0 ? none : tableOf(rows as Record<string, unknown>[], columns)),
  }
}

function unreachable(url: string, reason: unknown): never {
  const cause = reason instanceof Error && reason.cause instanceof Error ? reason.cause : reason
  const why = cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause)
  throw new Complaint(`Nobody answers at ${url} (${why}): is QuickLink running there? make up, or quicklink login URL.`, 3)
} // prettier-ignore

function sentenceOf(url: string, error: unknown, { status }: Response, typed: Typed): string {
  const { detail, code, field = '' } = (error ?? {}) as Partial<Problem>
  if (detail === undefined) return `The server answered ${status}, but not as QuickLink does: is this its address?`
  if (code === 'unauthorized')
    return `${url} does not take this key: log in with one that is valid there, quicklink login ${url}`
  return detail.startsWith(`${field} `) ? `${typed(field) ?? field}${detail.slice(field.length)}` : detail
}
