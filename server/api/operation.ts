// What the API offers, said once. A room declares its operations in this form, beside the code that does them; who may ask,
// what is refused, the description at /api/v1/openapi.json and the tests of answers all follow from the declaration.
import type { Request } from 'express'
import type { z } from 'zod'
import type { ErrorCode } from '../errors.ts'

/** Each may do what those before it may. */
export const roles = ['viewer', 'editor', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/** Of who asks; or a request that comes without any key, as one that signs in by it. */
type Needs = Role | 'nothing'

export const covers = (role: Role, needed: Needs): boolean =>
  needed === 'nothing' || roles.indexOf(role) >= roles.indexOf(needed)

export interface Caller {
  readonly tenant: string
  readonly role: Role
  /** Who it is: a key, which it comes with or which its session has come from, or a member. */
  readonly kind: 'key' | 'member'
  readonly id: string
  readonly name: string
  readonly sessionId?: string
  /** The owner may see and change every tenant's links. */
  readonly isOwner: boolean
}

/** What is asked, and from where. */
export interface Origin {
  /** The operation's id. */
  readonly action: string
  readonly address: string
}

/** Who does what from where, for the audit log. */
export interface By extends Origin {
  readonly caller: Caller
}

/** In the order in which the description has them. */
export const groups = {
  Links: 'Short links: what they lead to, and how often they were followed.',
  Imports: 'Links that come from elsewhere: a file is sent whole, and then worked off.',
  Tags: 'Words by which a tenant finds its links again. A tag comes with the first link that is given it.',
  Statistics: 'Who followed links, in numbers. Nothing of them says who anybody was.',
  Domains: 'Hosts whose links are their own, beside the default domain, which is the host of PUBLIC_URL.',
  Limits: "What a tenant has used of its tier's limits.",
  Tenants: 'Teams on this server, each with links, keys and limits of its own.',
  Keys: 'The keys of a tenant. A key is shown once, when it is made; the server keeps its hash.',
  Members: 'People of a tenant, who sign in by an invitation or by an identity provider.',
  Sessions: 'Sign-in for browsers: a key, or a link that signs in once, is exchanged for a cookie.',
  Audit: 'Who did what, when and from where.',
  System: 'For the owner: how this server is.',
  Cache: 'For the owner, when a redirect looks wrong: what each cache holds, and how to make all of them ask anew.',
} as const

type Method = 'get' | 'post' | 'patch' | 'delete'

export interface Operation {
  /** Its name in the description, and so in clients that are made from it. */
  readonly id: string
  readonly method: Method
  /** Below /api/v1, with `{name}` for a part that is given. */
  readonly path: `/${string}`
  readonly group: keyof typeof groups
  readonly needs: Needs
  readonly summary: string
  readonly about?: string
  /** What does not fit names nothing, so it is 404; the message of the schema says of what. */
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly headers?: readonly ('Idempotency-Key' | 'If-Match')[]
  readonly body?: {
    readonly schema: z.ZodType
    readonly example: object
    /** Where it may have more than others: few of them are held at once. */
    readonly bytes?: number
  }
  /** In place of a JSON body: a file of any length, which its room reads itself, within bounds of its own. */
  readonly upload?: { readonly types: readonly string[]; readonly example: string }
  readonly answer: {
    readonly status: 200 | 201 | 202 | 204
    readonly what: string
    /** With the same body and headers: what was asked for was there already. */
    readonly orThere?: { readonly status: 200; readonly what: string }
    /** Absent: the answer has no body, or one that is no JSON. */
    readonly schema?: z.ZodType
    /** Types of what comes bit by bit, for as long as it takes; with a schema, for who asks for one of them. */
    readonly stream?: readonly string[]
    readonly headers?: readonly ('ETag' | 'Location' | 'Set-Cookie')[]
  }
  /** What is refused besides that which is refused everywhere (`problemsOf`). */
  readonly problems?: readonly ErrorCode[]
}

/** Every error that this operation can be answered with. */
export function problemsOf({ needs, params, body, headers = [], problems = [] }: Operation): ErrorCode[] {
  // `rate_limited`: also an address that has tried too many keys.
  const all: ErrorCode[] = ['invalid', 'unauthorized', 'rate_limited']
  if (needs !== 'viewer' && needs !== 'nothing') all.push('forbidden')
  if (params) all.push('not_found')
  if (headers.includes('If-Match')) all.push('precondition_failed')
  if (body) all.push('too_large')
  return [...new Set([...all, ...problems, 'unavailable', 'internal'] as const)]
}

/** Of its body. */
export const bodyTypes = ({ method }: Operation): readonly string[] =>
  method === 'patch' ? ['application/json', 'application/merge-patch+json'] : ['application/json']

type Declared = Omit<Operation, 'id' | 'method' | 'path' | 'group' | 'needs'>

/** How the rooms declare those of a group. */
export const operationsOf =
  (group: Operation['group']) =>
  <const N extends Needs, const O extends Declared>(
    id: string,
    method: Method,
    path: Operation['path'],
    needs: N,
    declared: O,
  ) => ({ id, method, path, group, needs, ...declared })

type Parsed<S> = S extends z.ZodType ? z.output<S> : undefined

export interface Asked<O extends Operation = Operation> {
  readonly caller: O['needs'] extends 'nothing' ? undefined : Caller
  /** Of who asks, or the part of it that one subscriber has. */
  readonly address: () => string
  readonly origin: Origin
  /** Who asks, for the audit log. */
  readonly by: O['needs'] extends 'nothing' ? undefined : By
  readonly params: Parsed<O['params']>
  readonly query: Parsed<O['query']>
  readonly body: O['body'] extends { schema: infer S } ? Parsed<S> : undefined
  readonly request: Request
}

export interface Reply<Body = unknown> {
  /** Where it is not the usual one. */
  readonly status?: 200
  readonly body?: Body
  readonly headers?: Readonly<Record<string, string>>
}

/** What comes bit by bit. */
export interface Streamed {
  /** One of those that are declared, and perhaps what is to be said of it. */
  readonly type: string
  readonly headers?: Readonly<Record<string, string>>
  /** Asked for only where a body is wanted. What the first part throws is answered as a problem. */
  readonly parts: () => AsyncIterable<string>
}

type ReplyTo<O extends Operation> = O['answer'] extends { schema: infer S extends z.ZodType }
  ? | (Reply<z.input<S>> & { readonly body: z.input<S> })
    | (O['answer'] extends { stream: readonly string[] } ? Streamed : never)
  : O['answer'] extends { stream: readonly string[] }
    ? Streamed
    : Omit<Reply, 'body'> | undefined

export interface Route {
  readonly operation: Operation
  readonly handle: (asked: Asked) => Promise<Reply | Streamed | undefined>
}

export const route = <O extends Operation>(operation: O, handle: (asked: Asked<O>) => Promise<ReplyTo<O>>): Route => ({
  operation,
  handle,
})
