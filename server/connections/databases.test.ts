import { expect, test } from 'vitest'
import { connectionsPerWorker } from './databases.ts'

test("eight workers and their primary fit into Postgres' default of 100 connections, without the superuser's three", () => {
  const ofThePrimary = ['health', 'upkeep', 'boot'].length
  expect(8 * connectionsPerWorker + ofThePrimary).toBeLessThanOrEqual(100 - 3)
})
