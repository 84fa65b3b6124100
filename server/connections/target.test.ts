import { expect, test } from 'vitest'
import { database, directDatabase } from './target.ts'

const databaseUrl = 'postgres://quicklink@db.example:6432/quicklink'

test.each([
  [undefined, false],
  ['postgres://quicklink@db.example:5432/quicklink', true],
  ['postgres://quicklink@other.example:6432/quicklink', true],
  // Another role at the same place: nothing is in between.
  ['postgres://owner@db.example:6432/quicklink', false],
])('beside DATABASE_DIRECT_URL=%s, DATABASE_URL leads to a pooler: %s', (databaseDirectUrl, pooled) => {
  const config = { databaseUrl, databaseDirectUrl }
  expect(database(config).pooled).toBe(pooled)
  expect(directDatabase(config).pooled ?? false).toBe(false)
})
