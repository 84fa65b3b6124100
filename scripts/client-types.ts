import openapiTS, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { format, resolveConfig } from 'prettier'
import { describe } from '../server/api/openapi.ts'
import { operations } from '../testing/operations.ts'

export async function apiTypes(): Promise<string> {
  const file = 'clients/typescript/api.ts'
  const text = astToString(await openapiTS(describe(operations) as unknown as OpenAPI3, { alphabetize: true }))
  const why = 'Long because all of it is here.'
  const head = `// The types of the API, made from its description by npm run -s client. ${why}\n\n`
  return format(head + text, { ...(await resolveConfig(file)), filepath: file })
}
