// What everything in Redis is called; no other file says so. In a cluster the keys of a code or a tenant carry the tag of
// its partition, which puts all of them into one slot. A single Redis is one partition, without a tag.
import type { Code } from './link.ts'

/** Newest first. To go from v1 to v2: deploy [1, 2]-readers as [2, 1], wait one LINK_TTL_S, then keep [2]. */
const schemaVersions: readonly [number, ...number[]] = [1]

/** On it a process says of which code it has made a change. */
export const nudgeChannel = 'ql:invalidate'

export type Keys = ReturnType<typeof keysIn>

export const keysIn = (tag: string, schemas = schemaVersions) => ({
  schemas,
  /** How far this partition knows the truth. */
  cursor: `ql:v${schemas[0]}:cursor${tag}`,
  link: (code: Code, version = schemas[0]): string => `ql:v${version}:link:${tag}${code}`,
  /** Nobody has this code. */
  hint: (code: Code, version = schemas[0]): string => `ql:v${version}:404:${tag}${code}`,
  /** Everything that is known of codes. Where no wildcard stands before the tag, Redis 7.4 and later, and Valkey 8, look at its slot only. */
  allOfCodes: (tag === '' ? ['*'] : schemas).flatMap((version) => [
    `ql:v${version}:link:${tag}*`,
    `ql:v${version}:404:${tag}*`,
  ]),
  /** Figures of a link, for whoever looks after it. */
  meta: (code: Code): string => `ql:v1:meta:${tag}${code}`,
  /** How often a link was asked for lately. */
  hot: (code: Code): string => `ql:v1:hot:${tag}${code}`,
  /** The hits of a month that are left, and beside them whose they are. */
  hits(code: string, month: string): [counter: string, of: string] {
    const counter = `links:${tag}${code}:hits:${month}`
    return [counter, `${counter}:of`]
  },
  quota: (tenant: string, name: string): string => `quota:tenant:${tag}${tenant}:${name}`,
  /** Units of an hour that were taken. */
  units: (of: string): string => `ql:v1:creates:${tag}${of}`,
  domains: `ql:v1:domains${tag}`,
})

/** Of a single Redis. */
export const singleKeys = keysIn('')
