// What one bound relies on of another. The comments in limits.ts, and those beside the code, say why.
import { describe, expect, test } from 'vitest'
import { toLine } from './clicks/batch.ts'
import { readBytes } from './clicks/spool.ts'
import { loadConfig } from './config.ts'
import { limits } from './limits.ts'
import { connectionsPerWorker } from './connections/databases.ts'

const settingsOf = (env: Record<string, string> = {}) => loadConfig({ DATABASE_URL: 'postgres://db/quicklink', ...env })
const s = 1000
const hourS = 3600
const dayS = 24 * hourS

describe('what is removed when it is old', () => {
  test('is not needed any more: the outbox outlives the pause between two cursors', () => {
    expect(limits.outboxHours * hourS).toBeGreaterThan(100 * limits.cursorIdleS)
  })
  test('a spool that is forgotten is older than the longest statement about it', () => {
    expect(limits.spoolDays * dayS * s).toBeGreaterThan(100 * limits.upkeepMs)
  })
  test('grants of the month that is over outlive late clicks of it', () => {
    expect(limits.hitsMonths).toBeGreaterThanOrEqual(2)
  })
  test('a purged code is in no cache, and in no answer that an idempotency key repeats', () => {
    expect(limits.purgeAfterDays * 24).toBeGreaterThan(limits.outboxHours + limits.idempotencyHours)
    expect(limits.purgeAfterDays * dayS).toBeGreaterThan(7 * dayS + dayS)
  })
  test('a round of upkeep is tried more often than what it keeps grows old', () => {
    expect(limits.upkeepMs).toBeLessThan(limits.upkeepEveryMs)
    expect(limits.upkeepEveryMs).toBeLessThanOrEqual(limits.idempotencyHours * hourS * s)
  })
})

describe('coherence', () => {
  test('a tombstone outlives every fill that was read before it, and the time that trust takes to end', () => {
    const { dbTimeoutMs, redisTimeoutMs, trustMs } = settingsOf({ DB_TIMEOUT_MS: '1900', API_DB_TIMEOUT_MS: '2000' })
    expect(limits.tombstoneS * s).toBeGreaterThan(10 * (dbTimeoutMs + redisTimeoutMs + trustMs))
  })
  test('nudges cannot slow the passes down, and a step of one ends while trust lasts', () => {
    const { relayIntervalMs, trustMs } = settingsOf()
    expect(limits.nudgeGapMs).toBeLessThan(relayIntervalMs)
    expect(limits.passStepMs).toBeLessThan(trustMs)
    expect(limits.passChunk).toBeLessThan(limits.passBulk)
  })
})

describe('queues and pools', () => {
  test('a batch fits into its queue', () => {
    expect(limits.dbBatch).toBeLessThan(limits.dbQueue)
    expect(limits.redisBatch * limits.redisInFlight).toBeLessThanOrEqual(limits.redisQueue)
    expect(limits.dbQueue).toBeLessThanOrEqual(limits.flights)
  })
  test("8 workers and the primary stay below Postgres' default of 100 connections, 3 of them reserved", () => {
    // The primary's: health, upkeep, boot.
    expect(8 * connectionsPerWorker + 3).toBeLessThanOrEqual(97)
  })
  test('two processes fit into 32,768 connections', () => expect(2 * limits.connections).toBeLessThanOrEqual(32_768))
  test('the longest line of a spool is read at once', () => {
    const rows = Array.from({ length: limits.clickLinks }, () => [2 ** 53, 2 ** 53, 2 ** 53] as const)
    const totals = { accepted: 2 ** 53, dropped: 2 ** 53 }
    const line = toLine({ hourMs: Date.now(), rows, dropped: 2 ** 53, number: 2 ** 53, totals })
    expect(line.length).toBeLessThan(readBytes)
  })
  test('the longest destination fits into a body, escaped', () => {
    expect(JSON.stringify({ url: '\u0001'.repeat(limits.urlLength) }).length).toBeLessThan(limits.bodyBytes)
  })
})

describe('connections', () => {
  test('an idle connection outlives that of a proxy in front (nginx: 60 s)', () => {
    expect(limits.keepAliveMs).toBeGreaterThan(60 * s)
  })
  test('slow senders are found before they are late', () => {
    expect(limits.headersMs).toBeLessThanOrEqual(limits.requestMs)
    expect(limits.lateCheckMs).toBeLessThan(limits.headersMs)
  })
  test('the parts of a clean stop fit into it, and it into the 10 s of an orchestrator', () => {
    expect(limits.drainMs + limits.hitStopMs + limits.clicksStopMs).toBeLessThanOrEqual(limits.stopMs)
    expect(limits.lingerMs).toBeLessThan(limits.drainMs)
    expect(limits.stopMs + s).toBeLessThan(10 * s)
  })
})
