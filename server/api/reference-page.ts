// The description as a page that people read: nothing but HTML and its own style, so its policy allows no script and no other host.
// Loaded only when somebody asks for it.
import { createHash } from 'node:crypto'
import type { describe } from './openapi.ts'

type Document = ReturnType<typeof describe>
type Json = Record<string, unknown>

interface Parameter {
  readonly in: string
  readonly name: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Json
}
interface Content {
  readonly schema: Json
  readonly example?: unknown
}
interface Described {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, Answer | { readonly $ref: string }>>
}
interface Answer {
  readonly description: string
  readonly headers?: Json
  readonly content?: Readonly<Record<string, Content>>
}
interface Placed extends Described {
  readonly method: string
  readonly path: string
}

const style = `
:root{color-scheme:light dark;--text:#1f2328;--quiet:#59636e;--line:#d1d9e0;--paper:#fff;--code:#f2f4f7;--link:#0a58ca}
@media(prefers-color-scheme:dark){:root{--text:#e6e8eb;--quiet:#9aa4af;--line:#343b43;--paper:#14171a;--code:#20252b;--link:#7db4ff}}
*{box-sizing:border-box}
body{margin:0;font:1rem/1.55 system-ui,sans-serif;color:var(--text);background:var(--paper)}
a{color:var(--link)}
code,pre{font:.875em/1.5 ui-monospace,monospace;background:var(--code);border-radius:4px}
code{padding:.1em .3em}
pre{padding:.75rem 1rem;overflow-x:auto}
nav{padding:1rem 1.5rem;border-bottom:1px solid var(--line)}
nav ul{list-style:none;margin:0 0 1rem;padding:0}
nav a{text-decoration:none}
nav strong{font-size:.85rem;color:var(--quiet)}
main{max-width:56rem;padding:0 1.5rem 6rem}
section{border-top:1px solid var(--line);margin-top:2.5rem;padding-top:.5rem}
h1{margin-top:1.5rem}
h2{margin-top:3.5rem}
h3{margin-bottom:.25rem}
h4{margin:1.25rem 0 .25rem;font-size:.9rem;color:var(--quiet)}
table{border-collapse:collapse;width:100%;font-size:.925rem}
td{border-top:1px solid var(--line);padding:.4rem .75rem .4rem 0;vertical-align:top;overflow-wrap:anywhere}
td:first-child{width:13rem}
td:nth-child(2){width:11rem;color:var(--quiet)}
td p{margin:0}
.call{margin:.25rem 0}
.call b{display:inline-block;min-width:4.5rem}
@media(min-width:64rem){
nav{position:fixed;inset:0 auto 0 0;width:17rem;overflow-y:auto;border:0;border-right:1px solid var(--line)}
main{margin-left:18rem}
}
@media(max-width:40rem){td,td:first-child,td:nth-child(2){display:block;width:auto;border:0;padding:.1rem 0}tr{display:block;border-top:1px solid var(--line);padding:.4rem 0}}
`

export const referencePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? '')

const words = (text: string): string =>
  escape(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<b>$1</b>')

/** As much Markdown as our descriptions have: paragraphs, lists, bold, code. */
function prose(text: string): string {
  const block = (part: string): string =>
    part.startsWith('- ')
      ? `<ul>${part
          .split(/^- /m)
          .slice(1)
          .map((item) => `<li>${words(item)}`)
          .join('')}</ul>`
      : `<p>${words(part)}</p>`
  return text.split('\n\n').map(block).join('')
}

const anchorOf = (schema: string): string => `schema-${schema}`

function refOf(schema: Readonly<Json>): string | undefined {
  return typeof schema['$ref'] === 'string' ? schema['$ref'].split('/').at(-1) : undefined
}

/** What a value is, in a few words. */
function typeOf(schema: Json): string {
  const name = refOf(schema)
  if (name !== undefined) return `<a href="#${anchorOf(name)}">${escape(name)}</a>`
  const choices = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined
  if (choices) return choices.map(typeOf).join(' or ')
  if (schema['const'] !== undefined) return `<code>${escape(JSON.stringify(schema['const']))}</code>`
  if (Array.isArray(schema['enum']))
    return schema['enum'].map((word) => `<code>${escape(String(word))}</code>`).join(', ')
  if (schema['type'] === 'array') return `list of ${typeOf(schema['items'] as Json)}`
  const type = [schema['type']].flat().map(String).join(' or ')
  const { minimum, maximum, minLength, maxLength } = schema as Record<string, number | undefined>
  const least = minimum ?? minLength
  const most = maximum ?? maxLength
  const bounds =
    least !== undefined && most !== undefined ? `, ${least} to ${most}` : most !== undefined ? `, at most ${most}` : ''
  return escape((typeof schema['format'] === 'string' ? type.replace('string', schema['format']) : type) + bounds)
}

function notes(schema: Json): string {
  const said = typeof schema['description'] === 'string' ? schema['description'] : ''
  const fallback = schema['default'] === undefined ? '' : ` By default \`${JSON.stringify(schema['default'])}\`.`
  return words(said + fallback)
}

const row = (name: string, required: boolean, schema: Json, description = notes(schema)): string =>
  `<tr><td><code>${escape(name)}</code>${required ? '' : ' <small>optional</small>'}<td>${typeOf(schema)}<td>${description}`

/** Its fields, those of objects within it behind theirs. */
function fields(schema: Json, within = ''): string {
  const required = (schema['required'] ?? []) as string[]
  return Object.entries((schema['properties'] ?? {}) as Record<string, Json>)
    .map(([name, field]) => {
      const inner = [field, ...((field['anyOf'] ?? []) as Json[]), (field['items'] ?? {}) as Json]
      const deeper = inner.filter(({ properties }) => properties !== undefined)
      return (
        row(within + name, within !== '' || required.includes(name), field) +
        deeper.map((object) => fields(object, `${within}${name}${field['type'] === 'array' ? '[]' : ''}.`)).join('')
      )
    })
    .join('')
}

const table = (title: string, rows: string): string => (rows === '' ? '' : `<h4>${title}</h4><table>${rows}</table>`)

function curl({ method, path, parameters = [], requestBody }: Placed): string {
  const example = (name: string): string => {
    const [first] = (parameters.find((parameter) => parameter.name === name)?.schema['examples'] ?? []) as string[]
    return first ?? name
  }
  const at = path.replace(/\{(\w+)\}/g, (_, name: string) => example(name))
  const verb = { get: '', post: requestBody ? '' : ' -X POST', patch: ' -X PATCH', delete: ' -X DELETE' }[method] ?? ''
  const content = Object.values(requestBody?.content ?? {})[0]
  const body = content ? ` \\\n  -H 'Content-Type: application/json' -d '${JSON.stringify(content.example)}'` : ''
  return `curl${verb} "$QUICKLINK/api/v1${at}" -H "Authorization: Bearer $KEY"${body}`
}

function operationSection(operation: Placed, shared: Readonly<Record<string, Answer>>): string {
  const { operationId, summary, description, method, path, parameters = [], requestBody, responses } = operation
  const content = Object.values(requestBody?.content ?? {})[0]
  const given = parameters.map(({ name, required = false, schema, description = '' }) =>
    row(name, required, schema, words(description || notes(schema)) || notes(schema)),
  )
  const answers = Object.entries(responses).map(([status, answer]) => {
    const { description, headers = {}, content = {} } = '$ref' in answer ? shared[refOf(answer)!]! : answer
    const schema = Object.values(content)[0]?.schema
    const what =
      schema === undefined ? 'no body' : schema['allOf'] ? 'a <a href="#schema-Problem">Problem</a>' : typeOf(schema)
    const with_ = Object.keys(headers)
    return `<tr><td><code>${status}</code><td>${what}<td>${words(description)}${
      with_.length > 0 ? ` <small>With ${with_.map((name) => `<code>${name}</code>`).join(', ')}.</small>` : ''
    }`
  })
  return `<section id="${operationId}"><h3>${escape(summary)}</h3>
<p class="call"><b>${method.toUpperCase()}</b> <code>/api/v1${escape(path)}</code></p>
${prose(description)}<pre tabindex="0">${escape(curl(operation))}</pre>
${table('What is given', given.join(''))}
${content ? `<h4>Body</h4><p>${typeOf(content.schema)}, JSON</p>` : ''}
${table('Answers', answers.join(''))}</section>`
}

export function referencePage(document: Document): string {
  const operations = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Described>).map(([method, operation]): Placed => ({
      ...operation,
      method,
      path,
    })),
  )
  const groups = (document.tags ?? []).map(({ name, description = '' }) => ({
    name,
    description,
    operations: operations.filter(({ tags }) => tags.includes(name)),
  }))
  const shared = (document.components?.responses ?? {}) as Record<string, Answer>
  const schemas = Object.entries((document.components?.schemas ?? {}) as Record<string, Json>)
  const contents = groups.map(
    ({ name, operations }) =>
      `<strong>${name}</strong><ul>${operations
        .map(({ operationId, summary }) => `<li><a href="#${operationId}">${escape(summary)}</a>`)
        .join('')}</ul>`,
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>QuickLink: the API</title><style>${style}</style></head><body>
<nav aria-label="Contents">${contents.join('')}<strong>More</strong><ul><li><a href="#schemas">Bodies and answers</a>
<li><a href="/api/v1/openapi.json">openapi.json</a></ul></nav>
<main><h1>The API of QuickLink</h1>${prose(document.info.description ?? '')}
<p>The same for programs: <a href="/api/v1/openapi.json">/api/v1/openapi.json</a> (OpenAPI 3.1). In the examples, <code>$QUICKLINK</code> is
this server and <code>$KEY</code> your key.</p>
${groups
  .map(
    ({ name, description, operations }) =>
      `<h2>${name}</h2><p>${words(description)}</p>${operations.map((operation) => operationSection(operation, shared)).join('')}`,
  )
  .join('')}
<h2 id="schemas">Bodies and answers</h2>
${schemas
  .map(
    ([name, schema]) =>
      `<section id="${anchorOf(name)}"><h3>${escape(name)}</h3><table>${fields(schema)}</table></section>`,
  )
  .join('')}
</main></body></html>
`
}
