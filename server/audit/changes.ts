// What changed, as the API shows it: of each field what it was and what it is. A password, a key or a hash is in none of them.
import { limits } from '../limits.ts'

export type Changes = Readonly<Record<string, { readonly before?: unknown; readonly after?: unknown }>>
type Fields = Readonly<Record<string, unknown>>

/** Says nothing of what was done: it follows from the rest, or stands beside it. */
const silent = new Set(['id', 'code', 'domain', 'shortUrl', 'state', 'clicks', 'tenant', 'version', 'revision', 'createdBy', 'createdAt', 'updatedAt', 'key']) // prettier-ignore

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0)

/** A text that is too long for the log is there with its beginning. */
function short(value: unknown): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= limits.auditChars ? value : `${text.slice(0, limits.auditChars).toWellFormed()}…`
}

/** Of what is new, or gone, that which it says of itself. */
export function changesOf({ before, after }: { readonly before?: object; readonly after?: object }): Changes {
  const [was, is] = [(before ?? {}) as Fields, (after ?? {}) as Fields]
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((name) => !silent.has(name))
  const changed = names.filter((name) => {
    if (before === undefined || after === undefined) return !isNothing(was[name] ?? is[name])
    return JSON.stringify(was[name]) !== JSON.stringify(is[name])
  })
  return Object.fromEntries(
    changed.map((name) => [
      name,
      {
        ...(before === undefined ? {} : { before: short(was[name] ?? null) }),
        ...(after === undefined ? {} : { after: short(is[name] ?? null) }),
      },
    ]),
  )
}
