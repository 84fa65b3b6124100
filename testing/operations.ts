// Every operation of the API, and whether an answer is one that its operation declares.
import { isDeepStrictEqual } from 'node:util'
import { problemsOf, type Operation } from '../server/api/operation.ts'
import { listAudit } from '../server/audit/operations.ts'
import { invalidateCache, readCache } from '../server/coherence/api.ts'
import * as domains from '../server/domains/operations.ts'
import { statusOf } from '../server/errors.ts'
import { readHitsOperation } from '../server/hits/api.ts'
import * as imports from '../server/imports/operations.ts'
import * as bulk from '../server/links/bulk-operations.ts'
import * as links from '../server/links/operations.ts'
import * as members from '../server/members/operations.ts'
import { readLimits, readTenantLimits, syncQuota, syncQuotas } from '../server/quotas/api.ts'
import * as sessions from '../server/sessions/operations.ts'
import { readSystem } from '../server/system/api.ts'
import * as tenants from '../server/tenants/operations.ts'
import * as visits from '../server/visits/operations.ts'
import type { ApiAnswer } from './http.ts'

export const operations: readonly Operation[] = [
  ...Object.values(bulk),
  ...Object.values(links),
  readHitsOperation,
  ...Object.values(imports),
  ...Object.values(tenants),
  ...Object.values(domains),
  ...[readLimits, readTenantLimits, syncQuota, syncQuotas],
  ...Object.values(sessions),
  ...Object.values(members),
  listAudit,
  ...[visits.readLinkStats, visits.readStats, visits.readTagStats, visits.exportVisits],
  ...[readCache, invalidateCache, readSystem],
]

const forms = operations.map((operation) => ({
  operation,
  form: new RegExp(`^${operation.path.replace(/\{\w+\}/g, '[^/]+')}$`),
}))

/** What a client may only rely on where the description names it. */
const headersToDeclare = [
  'etag',
  'location',
  'retry-after',
  'www-authenticate',
  'ratelimit',
  'ratelimit-policy',
  'set-cookie',
]
const headersOfProblems: Readonly<Record<number, readonly string[]>> = {
  401: ['www-authenticate'],
  429: ['retry-after', 'ratelimit', 'ratelimit-policy'],
  503: ['retry-after'],
}

/** `path` is below /api/v1. What no operation has is for the tests of refusals. */
export function checkAnswer(method: string, path: string, answer: ApiAnswer): void {
  const name = path.split('?', 1)[0] ?? ''
  const asked = forms.find(({ operation, form }) => operation.method === method.toLowerCase() && form.test(name))
  if (!asked) return
  const { operation } = asked
  const wrong = (what: string): never => {
    throw new Error(
      `${operation.id} has not declared ${what}: ${method} ${path} was answered ${answer.status} ${answer.text}`,
    )
  }
  const { status, headers, body } = answer
  const found = headersToDeclare.filter((header) => headers[header] !== undefined)
  if (status === operation.answer.status || status === operation.answer.orThere?.status) {
    const declared = (operation.answer.headers ?? []).map((header) => header.toLowerCase())
    if (!isDeepStrictEqual(found.toSorted(), declared.toSorted())) wrong(`these headers (${found.join(', ')})`)
    const { schema, stream } = operation.answer
    const type = String(headers['content-type'])
    if (stream?.some((declared) => type.startsWith(declared))) return
    if (!schema && stream) wrong('this type')
    if (!schema) return void (answer.text === '' || wrong('a body'))
    if (!type.startsWith('application/json')) wrong('this type')
    const parsed = schema.safeParse(body)
    if (!parsed.success)
      wrong(`this form (${parsed.error.issues[0]?.path.join('.')} ${parsed.error.issues[0]?.message})`)
    // A schema drops what it does not know.
    if (!isDeepStrictEqual(parsed.data, body)) wrong('a field that is there')
    return
  }
  const problems = problemsOf(operation).filter((code) => statusOf(code) === status)
  if (!problems.some((code) => code === body['code'])) wrong(`${status} ${String(body['code'])}`)
  const undeclared = found.filter((header) => !headersOfProblems[status]?.includes(header))
  if (undeclared.length > 0) wrong(`the header ${undeclared.join(', ')}`)
}
