// What holds a create together: one key, one link; nothing half done; nothing minted twice.
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { limits } from '../config.ts'
import { QuickLinkError } from '../errors.ts'
import { freshDatabase, startFaultProxy, type FaultProxy } from '../../testing/services.ts'
import { startApi, type Api } from './api.stub.ts'

const url = 'https://example.com/'
const admissions = { taken: 0, released: 0, refuse: false, why: [] as unknown[] }
const nothing = () => Promise.resolve()
const admission = {
  admit: () => {
    if (admissions.refuse) return Promise.reject(new QuickLinkError('rate_limited', 'Slow down.', { retryAfterS: 7 }))
    admissions.taken++
    const release = (why?: unknown): Promise<void> => {
      admissions.released++
      admissions.why.push(why instanceof QuickLinkError ? why.code : why)
      return Promise.resolve()
    }
    return Promise.resolve({ within: (_sql: unknown, insert: () => never) => insert(), done: nothing, release })
  },
  change: () => Promise.resolve({ release: nothing }),
  depart: () => ({ within: nothing, done: nothing }),
}

let api: Api
let proxy: FaultProxy
let acme: string

beforeAll(async () => {
  const database = new URL(await freshDatabase())
  proxy = await startFaultProxy({ host: database.hostname, port: Number(database.port) })
  database.hostname = '127.0.0.1'
  database.port = String(proxy.port)
  api = await startApi({ databaseUrl: database.href, admission })
  acme = await api.addTenant('acme')
})
afterAll(async () => {
  await api.close()
  await proxy.close()
})

const withKey = (key: string): { headers: Record<string, string> } => ({ headers: { 'Idempotency-Key': key } })

const countLinks = async (): Promise<number> =>
  (await api.db.query<{ n: number }>('select count(*) as n from links'))[0]?.n ?? NaN

describe('an Idempotency-Key', () => {
  test('gives the same 201, to the byte, and makes no second link', async () => {
    const first = await api.create({ url, expiresAt: '2099-01-01T00:00:00Z' }, withKey('again'))
    await api.call('PATCH', `/links/${first.body.code}`, { body: { url: 'https://example.org/' } })
    const links = await countLinks()
    const second = await api.call('POST', '/links', {
      raw: `{ "expiresAt": "2099-01-01T00:00:00Z",  "url": "${url}" }`,
      ...withKey('again'),
    })
    expect([second.status, second.text]).toEqual([201, first.text])
    expect(second.headers.get('location')).toBe(first.headers.get('location'))
    expect(await countLinks()).toBe(links)
  })

  test('sent twenty times at once makes one link', async () => {
    const links = await countLinks()
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.create({ url }, withKey('at-once'))))
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(201))
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
    expect(await countLinks()).toBe(links + 1)
  })

  test('with another body is 409', async () => {
    await api.create({ url }, withKey('changed'))
    const answer = await api.create({ url, permanent: true }, withKey('changed'))
    expect([answer.status, answer.body.code]).toEqual([409, 'conflict'])
  })

  test('belongs to its tenant', async () => {
    const mine = await api.create({ url }, withKey('shared'))
    const theirs = await api.create({ url }, { key: acme, ...withKey('shared') })
    expect(theirs.status).toBe(201)
    expect(theirs.body.code).not.toBe(mine.body.code)
  })

  test('is forgotten after a day, and free for another body', async () => {
    const first = await api.create({ url }, withKey('old'))
    await api.db.query(`update idempotency_keys set created_at = now() - make_interval(hours => $1, mins => 1)`, [
      limits.idempotencyHours,
    ])
    const second = await api.create({ url, permanent: true }, withKey('old'))
    expect(second.status).toBe(201)
    expect(second.body.code).not.toBe(first.body.code)
    expect((await api.create({ url, permanent: true }, withKey('old'))).text).toBe(second.text)
  })

  test('whose request failed is free again', async () => {
    await api.create({ url, code: 'occupied' })
    expect((await api.create({ url, code: 'occupied' }, withKey('failed'))).status).toBe(409)
    expect((await api.create({ url, code: 'unoccupied' }, withKey('failed'))).status).toBe(201)
  })

  test.each(['', 'x'.repeat(256), 'with space', 'tab\t.', 'ümlaut'])('of the form %j is 400', async (key) => {
    const answer = await api.create({ url }, withKey(key))
    expect([answer.status, answer.body.field]).toEqual([400, 'Idempotency-Key'])
  })

  test('of 255 characters is fine', async () => {
    expect((await api.create({ url }, withKey('~'.repeat(255)))).status).toBe(201)
  })
})

test('200 creates at once get 200 codes', async () => {
  // As a client that is told 503 with Retry-After: four connections may not be enough for all of them on a busy machine.
  const created = async (): Promise<string> => {
    for (;;) {
      const { status, body } = await api.create({ url })
      if (status !== 503) return body.code as string
      await pause(100 + Math.random() * 200)
    }
  }
  const codes = await Promise.all(Array.from({ length: 200 }, created))
  expect(new Set(codes).size).toBe(200)
})

test('of 20 who want one code at once, one gets it', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => api.create({ url, code: 'wanted' })))
  expect(answers.map((answer) => answer.status).sort((a, b) => a - b)).toEqual([201, ...Array<number>(19).fill(409)])
})

test('a touch changes nothing but the version, and announces it', async () => {
  const { body } = await api.create({ url })
  // As an invalidation does.
  const [touched] = await api.db.query<{ url: string; enabled: boolean; version: number }>(
    'update links set code = code where code = $1 returning url, enabled, version',
    [body.code],
  )
  expect(touched).toMatchObject({ url, enabled: true })
  expect(touched?.version).toBeGreaterThan(body.version)
  const outbox = await api.db.query('select version from outbox where code = $1 order by version', [body.code])
  expect(outbox).toEqual([{ version: body.version }, { version: touched?.version }])
})

describe('admission', () => {
  test('is asked before, keeps what led to a link, and gives back the rest', async () => {
    Object.assign(admissions, { taken: 0, released: 0, why: [] })
    await api.create({ url }, withKey('admitted'))
    expect(admissions).toMatchObject({ taken: 1, released: 0 })
    await api.create({ url }, withKey('admitted'))
    expect(admissions).toMatchObject({ taken: 2, released: 1 })
    await api.create({ url, code: 'occupied' })
    expect(admissions).toMatchObject({ taken: 3, released: 2, why: [undefined, 'conflict'] })
    await api.create({ url: 'javascript:' })
    expect(admissions).toMatchObject({ taken: 3, released: 2 })
  })

  test('refused is 429 with Retry-After, and nothing is created', async () => {
    admissions.refuse = true
    const links = await countLinks()
    const answer = await api.create({ url })
    admissions.refuse = false
    expect([answer.status, answer.body.code, answer.headers.get('retry-after')]).toEqual([429, 'rate_limited', '7'])
    expect(await countLinks()).toBe(links)
  })
})

describe('while Postgres is away', () => {
  test.each(['refuse', 'blackHole'] as const)(
    '(%s) a create is 503 with Retry-After, and nothing is half done',
    async (fault) => {
      const links = await countLinks()
      await proxy[fault]()
      const answers = await Promise.all([
        api.create({ url, code: `away-${fault}` }, withKey(`away-${fault}`)),
        api.call('GET', '/links'),
        api.create({ url }, { key: 'wrong' }),
      ])
      await proxy.pass()
      for (const answer of answers) {
        expect([answer.status, answer.body.code]).toEqual([503, 'unavailable'])
        expect(answer.headers.get('retry-after')).toBe('1')
      }
      await expect.poll(countLinks, { timeout: 10_000 }).toBe(links)
      const retried = await api.create({ url, code: `away-${fault}` }, withKey(`away-${fault}`))
      expect(retried.status).toBe(201)
      expect(await countLinks()).toBe(links + 1)
    },
  )
})

test('in a restored copy nothing is minted before the counter has jumped, and the create succeeds all the same', async () => {
  const before = await api.db.query<{ epoch: string; next: number }>(
    'select epoch, last_value as next from ql_meta, link_counter_seq',
  )
  // What a restore into another database amounts to: the identity on record is not that of this one.
  await api.db.query(`update ql_meta set identity = 'another database'`)
  const answers = await Promise.all(Array.from({ length: 5 }, () => api.create({ url })))
  expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201, 201, 201])
  const rows = await api.db.query<{ counter: number }>('select counter from links order by id desc limit 5')
  const jumped = (before[0]?.next ?? NaN) + limits.counterRestoreMargin
  for (const { counter } of rows) {
    expect(counter).toBeGreaterThan(jumped)
    // Once: not once for each of the five.
    expect(counter).toBeLessThan(jumped + limits.counterRestoreMargin)
  }
  const after = await api.db.query<{ epoch: string; known: boolean }>(
    'select epoch, identity = ql_identity() as known from ql_meta',
  )
  expect(after[0]?.known).toBe(true)
  expect(after[0]?.epoch).not.toBe(before[0]?.epoch)
})
