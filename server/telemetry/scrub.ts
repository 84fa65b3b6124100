// What a line of the log may not show, and how long a text in it may be. It runs over every line, so each expression is
// linear in whatever stands there: what one begins with is never part of what it repeats.

const userInfo = /:\/\/[^\s"\\/]*@/g
const bearer = /\bBearer\s+[^\s"\\]+/gi
const assignment = /\b(password|passwd|pwd|secret|token)=[^\s"\\&;]+/gi
const key = /\bql_[\w-]{16,}/g
const word = /[^\s"\\]+/g

/** Nothing here takes a quote or a backslash away, so a JSON line stays one. */
export function scrub(line: string): string {
  return line
    .replace(userInfo, '://***@')
    .replace(bearer, 'Bearer ***')
    .replace(assignment, '$1=***')
    .replace(key, 'ql_***')
    .replace(word, withoutQuery)
}

/** `/path?query` and `https://host/path?query`: a question mark behind a slash. */
function withoutQuery(text: string): string {
  const slash = text.indexOf('/')
  const mark = slash === -1 ? -1 : text.indexOf('?', slash)
  return mark === -1 || mark === text.length - 1 ? text : `${text.slice(0, mark)}?***`
}

/** Scrubbed before it is cut: half a secret would not be recognised. */
export function shorten(text: string, length: number): string {
  const clean = scrub(text)
  return clean.length <= length ? clean : `${clean.slice(0, length)}… (${clean.length} characters)`
}
