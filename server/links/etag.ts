// Which state of a link somebody has read, so that a change can be made to that state only (If-Match). It is no token for a
// 304: `clicks` change without it.
import { invalid } from '../errors.ts'
import type { Version } from '../link.ts'

/** `version.revision`: the version counts what redirects depend on; nothing else of a link can be changed yet. */
export const etagOf = ({ version }: { readonly version: Version }): string => `"${version}.0"`

const form = /^(?:\*|(?:W\/)?"[\x21\x23-\x7e]*"(?:[ \t]*,[ \t]*(?:W\/)?"[\x21\x23-\x7e]*")*)$/

/** Those of which a link must have one; undefined: whatever it has. A weak tag (`W/`) is none of ours, so it never fits. */
export function versionsOf(ifMatch: string | undefined): readonly Version[] | undefined {
  if (ifMatch === undefined || ifMatch === '*') return undefined
  if (!form.test(ifMatch)) {
    throw invalid('If-Match', 'If-Match must be the ETag of a link, in its quotation marks, or *.')
  }
  return Array.from(ifMatch.matchAll(/(W\/)?"(\d{1,15})\.0"/g), ([, weak, version]) =>
    weak ? [] : [Number(version)],
  ).flat()
}
