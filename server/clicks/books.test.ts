import { expect, it } from 'vitest'
import { createClickBooks, none, type Progress } from './books.ts'

function books() {
  const counted = { accepted: 0, dropped: 0, persisted: 0 }
  const { note, totals } = createClickBooks((what, clicks) => (counted[what] += clicks))
  return {
    note: (spool: string, progress: Partial<Progress>, closed = false) => {
      note({ type: 'clicks', spool, progress: { ...none, ...progress }, closed })
      expect(totals()).toEqual(counted)
    },
    counted,
  }
}

it('a report that is repeated, or overtaken by a later one, counts nothing twice', () => {
  const { note, counted } = books()
  note('a', { accepted: 10, persisted: 4 })
  note('a', { accepted: 30, persisted: 20, dropped: 1 })
  note('a', { accepted: 10, persisted: 4 })
  note('b', { accepted: 5 })
  expect(counted).toEqual({ accepted: 35, persisted: 20, dropped: 1 })
})

it('of a spool that is taken over, only what the dead process had not reported is added', () => {
  const { note, counted } = books()
  note('a', { accepted: 10, persisted: 4 })
  const base = { accepted: 12, persisted: 12, dropped: 0 }
  note('a', { accepted: 20, persisted: 12, base })
  note('a', { accepted: 20, persisted: 20, base }, true)
  expect(counted).toEqual({ accepted: 20, persisted: 20, dropped: 0 })
})

it('of a spool that an earlier server left, only what it left is added', () => {
  const { note, counted } = books()
  const base = { accepted: 1000, persisted: 990, dropped: 10 }
  note('old', { accepted: 1020, persisted: 990, dropped: 10, base })
  note('old', { accepted: 1020, persisted: 1010, dropped: 10, base }, true)
  expect(counted).toEqual({ accepted: 20, persisted: 20, dropped: 0 })
})
