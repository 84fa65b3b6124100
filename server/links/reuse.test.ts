// What a request for many links asks Postgres, where many of them are alike.
import { expect, it } from 'vitest'
import type { Sql } from '../connections/postgres.ts'
import { findPlain } from './reuse.ts'

it('looks once for all that are alike, and answers each', async () => {
  const asked: unknown[][] = []
  const sql: Sql = {
    query: (_text: string, values: unknown[]) => {
      asked.push(values)
      return Promise.resolve([{ n: 2, code: 'two' }] as never[])
    },
  }
  const [one, two] = ['https://example.org/1', 'https://example.org/2']
  const wanted = [one, two, two, one].map((url) => ({ url, domain: null }))
  const found = await findPlain(sql, 'owner', { lifeDays: null, monthlyHits: null }, [...wanted, { url: two, domain: 'go.example' }]) // prettier-ignore
  expect(asked.map((values) => values.slice(0, 2))).toEqual([
    [
      [one, two, two],
      [null, null, 'go.example'],
    ],
  ])
  expect(found.map((row) => row?.code)).toEqual([undefined, 'two', 'two', undefined, undefined])
})
