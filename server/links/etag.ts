// Which state of a link somebody has read, so that a change can be made to that state only (If-Match). It is no token for a
// 304: `clicks` and `state` change without it.
import { invalid } from '../errors.ts'
import type { Version } from '../link.ts'

/** The version counts what redirects depend on, the revision what people say of the link. */
export interface Revised {
  readonly version: Version
  readonly revision: number
}

export const etagOf = ({ version, revision }: Revised): string => `"${version}.${revision}"`

const form = /^(?:\*|(?:W\/)?"[\x21\x23-\x7e]*"(?:[ \t]*,[ \t]*(?:W\/)?"[\x21\x23-\x7e]*")*)$/

/** Those of which a link must have one; undefined: whatever it has. A weak tag (`W/`) is none of ours, so it never fits. */
export function statesOf(ifMatch: string | undefined): readonly Revised[] | undefined {
  if (ifMatch === undefined || ifMatch === '*') return undefined
  if (!form.test(ifMatch)) {
    throw invalid('If-Match', 'If-Match must be the ETag of a link, in its quotation marks, or *.')
  }
  return Array.from(ifMatch.matchAll(/(W\/)?"(\d{1,15})\.(\d{1,9})"/g), ([, weak, version, revision]) =>
    weak ? [] : [{ version: Number(version), revision: Number(revision) }],
  ).flat()
}
