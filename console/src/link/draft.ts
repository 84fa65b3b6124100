// A link as a form has it, and what of it was changed.
import type { Link, Schemas } from '../api.ts'

export type Rule = Link['rules'][number]

export interface Draft {
  readonly url: string
  readonly title: string
  readonly tags: readonly string[]
  readonly note: string
  /** As a field for local times has them. */
  readonly startsAt: string
  readonly expiresAt: string
  readonly expiredUrl: string
  readonly monthlyHits: string
  readonly forwardQuery: boolean
  readonly permanent: boolean
  /** undefined, and '' while nothing is typed yet: it stays as it is; null: none from now on. */
  readonly password: string | null | undefined
  readonly rules: readonly Rule[]
}

const two = (n: number): string => String(n).padStart(2, '0')

/** '2030-01-31T12:00:00', in the browser's time zone; '' for none. */
export function localOf(at: string | null): string {
  if (at === null) return ''
  const d = new Date(at)
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}T${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
}

export const timeOf = (local: string): string | null => (local === '' ? null : new Date(local).toISOString())

export const emptyDraft: Draft = {
  ...{ url: '', title: '', tags: [], note: '', startsAt: '', expiresAt: '', expiredUrl: '', monthlyHits: '' },
  ...{ forwardQuery: false, permanent: false, password: undefined, rules: [] },
}

export const draftOf = (link: Link): Draft => ({
  url: link.url ?? '',
  title: link.title ?? '',
  tags: link.tags,
  note: link.note ?? '',
  startsAt: localOf(link.startsAt),
  expiresAt: localOf(link.expiresAt),
  expiredUrl: link.expiredUrl ?? '',
  monthlyHits: link.monthlyHits === null ? '' : String(link.monthlyHits),
  forwardQuery: link.forwardQuery,
  permanent: link.permanent,
  password: undefined,
  rules: link.rules,
})

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim())

/** As the API takes it; what was not touched keeps its name out. */
export function changeOf(draft: Draft, before: Draft): Schemas['LinkChange'] {
  const differs = (name: keyof Draft): boolean => JSON.stringify(draft[name]) !== JSON.stringify(before[name])
  const hits = draft.monthlyHits.trim()
  return {
    ...(differs('url') ? { url: draft.url.trim() } : {}),
    ...(differs('title') ? { title: orNull(draft.title) } : {}),
    ...(differs('tags') ? { tags: [...draft.tags] } : {}),
    ...(differs('note') ? { note: orNull(draft.note) } : {}),
    ...(differs('startsAt') ? { startsAt: timeOf(draft.startsAt) } : {}),
    ...(differs('expiresAt') ? { expiresAt: timeOf(draft.expiresAt) } : {}),
    ...(differs('expiredUrl') ? { expiredUrl: orNull(draft.expiredUrl) } : {}),
    ...(differs('monthlyHits') ? { monthlyHits: hits === '' ? null : Number(hits) } : {}),
    ...(differs('forwardQuery') ? { forwardQuery: draft.forwardQuery } : {}),
    ...(differs('permanent') ? { permanent: draft.permanent } : {}),
    ...(draft.password === undefined || draft.password === '' ? {} : { password: draft.password }),
    ...(differs('rules') ? { rules: draft.rules.map(({ url, when }) => ({ url, when: { ...when } })) } : {}),
  }
}

export const isChanged = (draft: Draft, before: Draft): boolean => Object.keys(changeOf(draft, before)).length > 0
