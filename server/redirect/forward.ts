// A visitor's query, said to the target, too. The URL's own grammar is the platform's: nothing that a visitor sends ends its
// query, and what is no character of a header is percent-encoded.
import { limits } from '../limits.ts'

/**
 * The target with the visitor's query behind its own, before the fragment. What both name is the visitor's alone, as in
 * Shlink; the rest of the target's query stays as it is, to the byte. `query` has a byte per character. Undefined: it is too
 * long. A target that is no URL was put in by a hand, and is left as it is.
 */
export function withQuery(target: string, query: string): string | undefined {
  if (query.length > limits.forwardedQuery) return undefined
  const url = URL.parse(target)
  if (url === null) return target
  const own = pairsOf(url.search)
  // In ASCII first: of names with other characters, Node misreads some. The setter drops a question mark, too.
  url.search = `?${Buffer.from(query, 'latin1').toString()}`
  const said = pairsOf(url.search)
  if (said.length === 0) return target
  const names = new Set(namesOf(said))
  const ownNames = namesOf(own)
  const kept = own.filter((_, i) => !names.has(ownNames[i] as string))
  url.search = `?${[...kept, ...said].join('&')}`
  return url.href
}

/** Of a query with its question mark. */
const pairsOf = (search: string): string[] =>
  search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '')

/** Of each pair in turn. */
const namesOf = (pairs: readonly string[]): string[] => [...new URLSearchParams(`?${pairs.join('&')}`).keys()]
