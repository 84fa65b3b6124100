import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { apiTypes } from '../../scripts/client-types.ts'
import { every, quickLink } from './client.ts'

test('the types are those of the description', async () => {
  const file = new URL('api.ts', import.meta.url)
  expect(await apiTypes(), 'npm run -s client makes them').toBe(readFileSync(file, 'utf8'))
})

/** A server that answers so, one after the other, and what it was asked. */
function answering(...answers: (Response | Error)[]) {
  const asked: Request[] = []
  const fetch = (request: Request): Promise<Response> => {
    asked.push(request)
    const answer = answers.shift()!
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
  }
  return { asked, api: quickLink({ url: 'https://go.example.org/', key: 'k', fetch }) }
}
const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json', ...headers } })
const busy = (): Response => json(503, { code: 'unavailable' }, { 'Retry-After': '0' })

test('a link is made once, however often it has to be asked for', async () => {
  const { asked, api } = answering(busy(), new Error('reset'), json(201, { code: 'abc' }))
  const { data } = await api.POST('/links', { body: { url: 'https://example.org/' } })
  expect(data?.code).toBe('abc')
  const keys = asked.map(({ headers }) => headers.get('Idempotency-Key'))
  expect([keys.length, new Set(keys).size, keys[0]?.length]).toEqual([3, 1, 36])
  expect(await Promise.all(asked.map((request) => request.text()))).toEqual(Array(3).fill('{"url":"https://example.org/"}')) // prettier-ignore
})

test('a change is not repeated, and an error is a value', async () => {
  const { asked, api } = answering(busy())
  const { error } = await api.PATCH('/links/{code}', { params: { path: { code: 'abc' } }, body: { enabled: false } })
  expect([asked.length, error?.code]).toEqual([1, 'unavailable'])
})

test('who asks for more patience than ten seconds gets none', async () => {
  const { asked, api } = answering(json(429, { code: 'rate_limited' }, { 'Retry-After': '3600' }))
  const { error } = await api.GET('/links')
  expect([asked.length, error?.code]).toEqual([1, 'rate_limited'])
})

test('a list is read page by page, and only as far as it is wanted', async () => {
  const seen: (string | undefined)[] = []
  const page = (cursor: string | undefined) => {
    seen.push(cursor)
    return Promise.resolve({ items: [seen.length], nextCursor: seen.length < 3 ? `c${seen.length}` : null })
  }
  const items: number[] = []
  for await (const item of every(page)) items.push(item)
  expect(items).toEqual([1, 2, 3])
  expect(seen).toEqual([undefined, 'c1', 'c2'])
})
