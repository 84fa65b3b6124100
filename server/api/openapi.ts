// The description of the API (OpenAPI 3.1), made of what the rooms declare. Loaded only when somebody asks for it.
import { z } from 'zod'
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiResponseObject } from 'zod-openapi'
import { limits } from '../limits.ts'
import { statusOf, titleOf, type ErrorCode } from '../errors.ts'
import { problemShown } from './fields.ts'
import { bodyTypes, groups, problemsOf, type Operation } from './operation.ts'

const introduction = `Every request needs a key, as \`Authorization: Bearer <key>\`.

- **Roles.** A key has a role. \`viewer\` reads, \`editor\` also writes links, \`admin\` also makes and revokes keys of its tenant, \`owner\` may do everything. Each operation says which role it needs.
- **Bodies** are JSON in UTF-8, of at most ${limits.bodyBytes} bytes. A PATCH is a merge patch (RFC 7396): what it names is changed, the rest stays.
- **What is not known is refused**: a field, or a query parameter, that an operation does not have is answered 400, with its name.
- **Answers may get further fields.** A client ignores those that it does not know.
- **Times** are RFC 3339. Answers have them in UTC.
- **Lists** come in pages. \`nextCursor\` of a page is the \`cursor\` of the next; it is null on the last one.
- **Errors** are \`application/problem+json\`, with a \`code\` for programs and a \`detail\` for people. 429 and 503 say in \`Retry-After\` how many seconds to wait.
- **HEAD** answers as GET, without the body. Another method than those described is 405, with \`Allow\`.`

const header = (description: string, pattern: string, example: string, required: boolean) => ({
  description,
  required,
  schema: { type: 'string' as const, pattern, examples: [example] },
})

const headers = {
  ETag: header(
    'Which state of the link this is: for `If-Match`. It says nothing of `clicks`.',
    '^"\\d+\\.\\d+"$',
    '"4711.0"',
    true,
  ),
  Location: header('Where it can be read.', '^/api/v1/', '/api/v1/links/spring', true),
  'Set-Cookie': header(
    'The cookie of the session.',
    '^(__Host-quicklink|quicklink-session)=',
    'quicklink-session=qs_…',
    true,
  ),
  'Retry-After': header('Seconds to wait.', '^\\d+$', '1', true),
  'WWW-Authenticate': header('How to give a key.', '^Bearer$', 'Bearer', true),
  'RateLimit-Policy': header(
    'The limit that was reached: its quota and its window in seconds.',
    '^"',
    '"creates";q=50;w=3600',
    false,
  ),
  RateLimit: header('What is left of it, and the seconds until it begins anew.', '^"', '"creates";r=0;t=1800', false),
}
type HeaderName = keyof typeof headers

const problemHeaders: Readonly<Record<number, readonly HeaderName[]>> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After', 'RateLimit-Policy', 'RateLimit'],
  503: ['Retry-After'],
}

const requestHeaders = {
  'Idempotency-Key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/)
    .optional()
    .meta({
      description: 'Makes it safe to repeat the request. Another body under the same key is 409.',
      examples: ['3f1c2a9e'],
    }),
  'If-Match': z
    .string()
    .regex(/^\*$|^(W\/)?"[!#-~]*"$/)
    .optional()
    .meta({
      description:
        'The `ETag` that you have read: if the link has changed since, nothing is done, and the answer is 412.',
      examples: ['"4711.0"'],
    }),
}

const headersNamed = (names: readonly HeaderName[]) => {
  const headers = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` as const }]))
  return names.length === 0 ? {} : { headers }
}

const pascal = (code: string) => code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** An answer of a status that refuses for the same reasons stands in the description once, whoever gives it. */
function refusing() {
  const made = new Map<string, ZodOpenApiResponseObject>()
  const refusal = (status: number, codes: ErrorCode[]): ZodOpenApiResponseObject => ({
    id: codes.map(pascal).join('Or'),
    description: codes.map((code) => `\`${code}\`: ${titleOf(code)}.`).join(' '),
    ...headersNamed(problemHeaders[status] ?? []),
    content: {
      'application/problem+json': {
        schema: { allOf: [{ $ref: '#/components/schemas/Problem' }, { properties: { code: { enum: codes } } }] },
      },
    },
  })
  return (operation: Operation): Record<string, ZodOpenApiResponseObject> => {
    const byStatus = Map.groupBy(problemsOf(operation).toSorted(), statusOf)
    return Object.fromEntries(
      [...byStatus].map(([status, codes]) => {
        const name = codes.join()
        const answer = made.get(name) ?? refusal(status, codes)
        made.set(name, answer)
        return [status, answer]
      }),
    )
  }
}

const answered = ({ headers = [], schema, stream = [] }: Operation['answer'], what: string) => ({
  description: what,
  ...headersNamed(headers),
  ...(schema || stream.length > 0
    ? {
        content: {
          ...(schema ? { 'application/json': { schema } } : {}),
          ...Object.fromEntries(stream.map((type) => [type, { schema: { type: 'string' as const } }])),
        },
      }
    : {}),
})

function described(operation: Operation, refusals: ReturnType<typeof refusing>): ZodOpenApiOperationObject {
  const { id, group, needs, summary, about, params, query, headers = [], body, upload, answer } = operation
  const needed = needs === 'nothing' ? 'Needs no key.' : `Needs the role \`${needs}\`.`
  return {
    operationId: id,
    tags: [group],
    summary,
    description: about === undefined ? needed : `${about}\n\n${needed}`,
    ...(needs === 'nothing' ? { security: [] } : { 'x-role': needs }),
    requestParams: {
      ...(params ? { path: params } : {}),
      ...(query ? { query } : {}),
      ...(headers.length > 0
        ? { header: z.object(Object.fromEntries(headers.map((name) => [name, requestHeaders[name]]))) }
        : {}),
    },
    ...(body
      ? {
          requestBody: {
            required: true,
            content: Object.fromEntries(
              bodyTypes(operation).map((type) => [type, { schema: body.schema, example: body.example }]),
            ),
          },
        }
      : {}),
    ...(upload
      ? {
          requestBody: {
            required: true,
            content: Object.fromEntries(
              upload.types.map((type) => [type, { schema: z.string(), example: upload.example }]),
            ),
          },
        }
      : {}),
    responses: {
      [answer.status]: answered(answer, answer.what),
      ...(answer.orThere ? { [answer.orThere.status]: answered(answer, answer.orThere.what) } : {}),
      ...refusals(operation),
    },
  }
}

export function describe(operations: readonly Operation[]) {
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {}
  const refusals = refusing()
  for (const operation of operations) (paths[operation.path] ??= {})[operation.method] = described(operation, refusals)
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'QuickLink',
        version: '1',
        description: introduction,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/api/v1' }],
      security: [{ key: [] }, { session: [] }],
      tags: Object.entries(groups).map(([name, description]) => ({ name, description })),
      paths,
      components: {
        schemas: { Problem: problemShown },
        headers,
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'A key of a tenant, or of the owner.' },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: '__Host-quicklink',
            description:
              'Of a browser that has signed in; `quicklink-session` where `PUBLIC_URL` is http on this very machine.',
          },
        },
      },
    },
    {
      override({ jsonSchema }) {
        // What every JSON number has says nothing.
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      },
    },
  )
}
