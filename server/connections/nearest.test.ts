import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { nearest, type Reads } from './nearest.ts'

const failing = (code: string) => {
  const error = Object.assign(new pg.DatabaseError('no', 2, 'error'), { code })
  return { query: () => Promise.reject(error) } as unknown as Reads
}
const ask = (code: string) => {
  const far = { query: vi.fn(() => Promise.resolve(['of the primary'])) }
  return { far, answer: nearest(far as unknown as Reads, failing(code), () => true).query('select 1') }
}

test('the primary is asked where a standby cannot answer', async () => {
  await expect(ask('40001').answer).resolves.toEqual(['of the primary'])
})

test('the primary is not asked for what takes a standby too long', async () => {
  const { far, answer } = ask('57014')
  await expect(answer).rejects.toThrow('no')
  expect(far.query).not.toHaveBeenCalled()
})
