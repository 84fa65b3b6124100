// One tenant's questions never take all places, and everybody's turn comes.
import { expect, it } from 'vitest'
import type { QuickLinkError } from '../errors.ts'
import { Turns } from './turns.ts'

/** Work that ends when it is told to. */
function works(turns: Turns) {
  const began: string[] = []
  const ends = new Map<string, () => void>()
  const ask = (tenant: string, name: string): Promise<string> =>
    turns
      .in(tenant, async () => {
        began.push(name)
        await new Promise<void>((resolve) => ends.set(name, resolve))
        return name
      })
      .catch((error: unknown) => (error as QuickLinkError).code)
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { began, ask, end }
}

it('of a tenant one works at a time, its others wait behind those of other tenants, and too many are refused', async () => {
  const { began, ask, end } = works(new Turns({ running: 2, waiting: 4, waitingOfTenant: 2, what: 'question' }))
  const [a1, a2, a3, a4] = ['a1', 'a2', 'a3', 'a4'].map((name) => ask('a', name))
  expect(await a4).toBe('rate_limited')
  const [b1, c1, d1] = [ask('b', 'b1'), ask('c', 'c1'), ask('d', 'd1')]
  expect(await ask('e', 'e1')).toBe('unavailable')
  expect(began).toEqual(['a1', 'b1'])
  for (const name of ['a1', 'a2', 'b1', 'c1', 'd1', 'a3']) await end(name)
  expect(began).toEqual(['a1', 'b1', 'a2', 'c1', 'd1', 'a3'])
  expect(await Promise.all([a1, a2, a3, b1, c1, d1])).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'd1'])
})

it('what fails gives its turn back', async () => {
  const turns = new Turns({ running: 1, waiting: 1, waitingOfTenant: 1, what: 'question' })
  await expect(turns.in('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await turns.in('a', () => Promise.resolve(1))).toBe(1)
})
