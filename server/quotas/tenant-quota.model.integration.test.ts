// Reserve, refund and sync in every order, killed processes included: the real scripts on a real Redis, around a model of
// the rows. What Redis counts is at every moment what the rows say plus what is in flight.
import { beforeAll, describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { openRedis, type RedisConnection } from '../connections/redis.ts'
import { fixedSeed, search, searches } from '../../testing/search.ts'
import { freshRedis, waitFor } from '../../testing/services.ts'
import { loadScripts, newEntry } from './tenant-quota.ts'

let redis: RedisConnection
let scripts: ReturnType<typeof loadScripts>
const tenant = 'acme'
const limit = 6
const ignore = (): void => undefined

beforeAll(async () => {
  const redisUrl = await freshRedis()
  const target = { redisUrl, redisSentinels: undefined, redisSentinelName: undefined, redisPassword: undefined }
  redis = openRedis(target, { onError: ignore, onCommand: ignore })
  scripts = loadScripts(redis)
  await waitFor(() => redis.ready)
  return () => redis.close()
})

const usedInRedis = async (): Promise<number> => Number((await redis.getEach([`quota:tenant:${tenant}:used`]))[0])

interface Snapshot {
  rows: number
  contained: string[]
  young: string[]
}
type SyncScript = (snapshot: Snapshot) => Promise<unknown>

const sync: SyncScript = ({ rows, contained, young }) => scripts.sync(tenant, rows, limit, contained, young)
/** What the seed does. */
const plainSet: SyncScript = async ({ rows }) => {
  await redis.unlink([`quota:tenant:${tenant}:ops`])
  await scripts.sync(tenant, rows, limit, [], [])
}
const deafToRefunds: SyncScript = ({ rows, contained }) => scripts.sync(tenant, rows, limit, contained, [])
const blindToCommits: SyncScript = ({ rows }) => scripts.sync(tenant, rows, limit, [], [])

class World {
  rows = 0
  /** quota_ops */
  readonly ops: string[] = []
  readonly reserved: string[] = []
  readonly failed: string[] = []
  readonly deleted: string[] = []
  readonly counting: Snapshot[] = []
  crashed = 0
  readonly #sync: SyncScript

  constructor(sync: SyncScript) {
    this.#sync = sync
  }

  snapshot(): Snapshot {
    return { rows: this.rows, contained: [...this.ops], young: this.ops.filter((entry) => entry.startsWith('-')) }
  }

  async step(action: number, pick: number): Promise<void> {
    const take = <T>(from: T[]): T | undefined => from.splice(pick % Math.max(1, from.length), 1)[0]
    const actions: (() => Promise<void> | void)[] = [
      async () => {
        const entry = newEntry('+')
        if ((await scripts.reserve(tenant, entry)).fits) this.reserved.push(entry)
      },
      () => {
        const entry = take(this.reserved)
        if (entry === undefined) return
        this.rows++
        this.ops.push(entry)
      },
      () => {
        const entry = take(this.reserved)
        if (entry !== undefined) this.failed.push(entry)
      },
      async () => {
        const entry = take(this.failed)
        if (entry !== undefined) await scripts.refund(tenant, entry)
      },
      () => {
        if (this.rows === 0) return
        const entry = newEntry('-')
        this.rows--
        this.ops.push(entry)
        this.deleted.push(entry)
      },
      async () => {
        const entry = take(this.deleted)
        if (entry === undefined) return
        await scripts.refund(tenant, entry)
        // A reply that was lost: the same again.
        if (pick % 3 === 0) await scripts.refund(tenant, entry)
      },
      () => void this.counting.push(this.snapshot()),
      async () => {
        const snapshot = take(this.counting)
        if (snapshot) await this.#sync(snapshot)
      },
      // Killed after a reservation, before a refund of either kind.
      () => {
        if (pick % 4 !== 0) return
        for (const inFlight of [this.reserved, this.failed, this.deleted]) {
          if (take(inFlight) !== undefined) this.crashed++
        }
      },
    ]
    await actions[action % actions.length]?.()
  }

  get expected(): number {
    return this.rows + this.reserved.length + this.failed.length + this.deleted.length + this.crashed
  }
}

const steps = fc.array(fc.tuple(fc.nat(8), fc.nat(1000)), { minLength: 5, maxLength: 60 })

const property = (script: SyncScript) =>
  fc.asyncProperty(steps, async (schedule) => {
    await redis.unlinkMatching(`quota:tenant:${tenant}:*`)
    const world = new World(script)
    await sync(world.snapshot())
    for (const [action, pick] of schedule) {
      await world.step(action, pick)
      if ((await usedInRedis()) !== world.expected)
        throw new Error(`counted ${await usedInRedis()}, not ${world.expected}`)
      if (world.rows > limit) throw new Error('over the limit')
    }
    // Later: Redis has forgotten the ids, and so has Postgres; the dead are dead.
    await redis.unlink([`quota:tenant:${tenant}:ops`])
    await sync({ rows: world.rows, contained: [], young: [] })
    if ((await usedInRedis()) !== world.rows) throw new Error('the sync has not repaired it')
  })

test('Redis counts the rows and what is in flight, and a later sync forgets the dead', searches, () =>
  search('quotas of links', property(sync), 150),
)

describe('the model finds the mistake of a sync that', () => {
  test.each([
    ['is a plain SET of the rows, as in the seed', plainSet],
    ['forgets refunds that are on their way', deafToRefunds],
    ['takes what has been committed for in flight', blindToCommits],
  ])('%s', async (_what, mutant) => {
    const found = await fc.check(property(mutant), { seed: fixedSeed, numRuns: 500, endOnFailure: true })
    expect(found.failed).toBe(true)
  })
})

describe('the interleaving that a plain SET gets wrong', () => {
  const interleave = async (script: SyncScript): Promise<number> => {
    await redis.unlinkMatching(`quota:tenant:${tenant}:*`)
    const world = new World(script)
    await sync(world.snapshot())
    await world.step(0, 0) // a create reserves
    await world.step(6, 0) // the sync counts: the row is not there yet
    await world.step(1, 0) // the create commits
    await world.step(7, 0) // the sync writes
    expect(world.rows).toBe(1)
    return usedInRedis()
  }
  test('with it, a place is counted as free that is taken', async () => {
    expect(await interleave(plainSet)).toBe(0)
  })
  test('with ids, it is not', async () => {
    expect(await interleave(sync)).toBe(1)
  })
})

test('reserve answers {1|-1, used, limit}; refund gives back once, and never below 0', async () => {
  await redis.unlinkMatching(`quota:tenant:${tenant}:*`)
  expect(await scripts.reserve(tenant, '+a')).toEqual({ fits: false, used: 0, limit: 0 })
  await scripts.sync(tenant, limit - 1, limit, [], [])
  expect(await scripts.reserve(tenant, '+a')).toEqual({ fits: true, used: limit, limit })
  expect(await scripts.reserve(tenant, '+b')).toEqual({ fits: false, used: limit, limit })
  expect(await scripts.refund(tenant, '+a')).toBe(limit - 1)
  expect(await scripts.refund(tenant, '+a')).toBe(limit - 1)
  for (let n = 0; n < limit + 3; n++) await scripts.refund(tenant, `-${n}`)
  expect(await usedInRedis()).toBe(0)
  expect(await scripts.sync(tenant, 0, null, [], [])).toEqual({ before: 0, after: null })
})
