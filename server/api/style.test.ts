// What OpenAPI asks of a description, and what its readers expect of one: judged by Redocly's rules, in this process. It asks no
// other host, and what it brings is here anyway, for the types of the client.
import { createConfig, lintFromString, type RawUniversalConfig } from '@redocly/openapi-core'
import { expect, test } from 'vitest'
import { operations } from '../../testing/operations.ts'
import { describe } from './openapi.ts'

const config: RawUniversalConfig = {
  extends: ['recommended-strict'],
  rules: {
    'component-name-unique': 'error',
    'no-invalid-parameter-examples': 'error',
    'no-invalid-schema-examples': 'error',
    'no-required-schema-properties-undefined': 'error',
    'operation-singular-tag': 'error',
    'operation-tag-defined': 'error',
    'parameter-description': 'error',
    'paths-kebab-case': 'error',
  },
}

async function findings(description: object): Promise<string[]> {
  const source = JSON.stringify(description)
  const found = await lintFromString({ source, absoluteRef: 'openapi.json', config: await createConfig(config) })
  return found.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer ?? ''}`)
}

test('nothing is found in the description of the API', async () => {
  expect(await findings(describe(operations))).toEqual([])
})

test.each([
  ['struct', 'an answer without a description', { description: undefined }],
  ['no-invalid-media-type-examples', 'an example that is none', { example: { links: 'many' } }],
  ['operation-4xx-response', 'an operation that never refuses', { only: '200' }],
  ['operation-summary', 'an operation without a summary', { summary: undefined }],
  ['parameter-description', 'a parameter that is not described', { parameter: undefined }],
  ['security-defined', 'an operation that does not say who may', { security: undefined }],
])('%s is found: %s', async (rule, _, broken) => {
  const description = structuredClone(describe(operations)) as unknown as Loose
  const tags = description.paths['/tags']!['get']!
  const [[status, answer]] = Object.entries(tags.responses) as [[string, Loose['answer']]]
  if ('description' in broken) delete answer.description
  if ('example' in broken) answer.content['application/json']!.example = broken.example
  if ('only' in broken) tags.responses = { [status]: answer }
  if ('summary' in broken) delete tags.summary
  if ('parameter' in broken) delete tags.parameters[0]!.description
  if ('security' in broken) {
    delete tags.security
    delete description.security
  }
  expect((await findings(description)).map((finding) => finding.split(':')[0])).toContain(rule)
})

/** As much of a description as is broken here. */
interface Loose {
  paths: Record<
    string,
    Record<
      string,
      {
        responses: Record<string, Loose['answer']>
        summary?: string
        security?: unknown
        parameters: { description?: string }[]
      }
    >
  >
  security?: unknown
  answer: { description?: string; content: Record<string, { example?: unknown }> }
}
