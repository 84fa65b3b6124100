// Requests for many links that something comes between.
import { expect, it } from 'vitest'
import { startTestApp } from '../../testing/app.ts'
import { newTenant } from '../../testing/http.ts'
import { freshDatabase, handInPsql, proxied, waitFor } from '../../testing/services.ts'

const databaseUrl = await freshDatabase()
const through = await proxied(databaseUrl)
const proxy = through.proxy
const app = await startTestApp({ databaseUrl: through.url })
const hand = handInPsql(databaseUrl)

const url = 'https://example.org/'
const count = async (what: string): Promise<number> =>
  (await hand.query<{ n: number }>(`select count(*) as n from links where ${what}`))[0]?.n ?? NaN

/** While the last of what it needs is held, Postgres is gone. */
async function cutOff(ask: () => Promise<{ status: number }>, held: string): Promise<number> {
  let asked: Promise<{ status: number }> | undefined
  await hand.transaction(async (sql) => {
    await sql.query(held)
    asked = ask()
    await waitFor(async () => {
      const [row] = await hand.query<{ n: number }>(
        `select count(*) as n from pg_stat_activity where datname = current_database() and application_name = 'quicklink-api' and wait_event_type = 'Lock'`,
      )
      return row?.n === 1
    })
    await proxy.refuse()
  })
  const answer = await asked
  await proxy.pass()
  await waitFor(async () => (await app.api('GET', '/limits')).status === 200)
  return answer?.status ?? NaN
}

it('503: Postgres dies in the middle of a change, and nothing is changed', async () => {
  const codes = Array.from({ length: 20 }, (_, n) => `held-${String(n).padStart(2, '0')}`)
  await app.api('POST', '/links/bulk', { links: codes.map((code) => ({ url, code })) })
  const change = { codes, change: { enabled: false } }
  const held = `select from links where code = 'held-19' for update`
  expect(await cutOff(() => app.api('PATCH', '/links/bulk', change), held)).toBe(503)
  expect(await count(`code like 'held-%' and enabled`)).toBe(20)
  expect((await app.api('PATCH', '/links/bulk', change)).status).toBe(200)
  expect(await count(`code like 'held-%' and enabled`)).toBe(0)
})

it('503: Postgres dies in the middle of a create, and nothing is made, nor counted', async () => {
  const acme = await newTenant(app, 'acme')
  const body = { links: Array(10).fill({ url }) }
  const held = `select from tenants where id = 'acme' for update`
  expect(await cutOff(() => acme.api('POST', '/links/bulk', body, { 'Idempotency-Key': 'a' }), held)).toBe(503)
  expect(await count(`tenant = 'acme'`)).toBe(0)
  expect((await acme.api('GET', '/limits')).body).toMatchObject({ creates: { used: 0 } })
  expect((await acme.api('POST', '/links/bulk', body, { 'Idempotency-Key': 'a' })).status).toBe(200)
  expect(await count(`tenant = 'acme'`)).toBe(10)
})

it('403: of a tenant that is deleted in that moment nothing is made', async () => {
  const gone = await newTenant(app, 'gone')
  const asked = await hand.transaction(async (sql) => {
    await sql.query(`update tenants set deleted_at = now() where id = 'gone'`)
    const asked = gone.api('POST', '/links/bulk', { links: [{ url }] })
    await waitFor(async () => {
      const [row] = await hand.query<{ n: number }>(
        `select count(*) as n from pg_stat_activity where datname = current_database() and application_name = 'quicklink-api' and wait_event_type = 'Lock'`,
      )
      return row?.n === 1
    })
    return { asked }
  })
  expect((await asked.asked).body).toMatchObject({ status: 403, code: 'forbidden' })
  expect(await count(`tenant = 'gone'`)).toBe(0)
})

it('200: the links of a tenant that is not there are none, and no tag is made for it', async () => {
  const answer = await app.api('PATCH', '/links/bulk', { filter: { tenant: 'nobody' }, change: { addTags: ['Sale'] } })
  expect([answer.status, answer.body['results']]).toEqual([200, []])
})

it('onExisting=return: each plain link that is there, or was made before it in the request, is answered in place of a new one', async () => {
  const there = `${url}there`
  const { body: old } = await app.api('POST', '/links', { url: there })
  const ask = {
    links: [
      { url: there },
      { url: `${url}new` },
      { url: `${url}new` },
      { url: there, permanent: true },
      { url: 'nowhere' },
    ],
  }
  const send = (query: string, headers = {}) => app.api('POST', `/links/bulk${query}`, ask, headers)
  const told = ({ body }: Awaited<ReturnType<typeof send>>) =>
    (body['results'] as { status: number; link?: { code: string } }[]).map(({ status, link }) => [status, link?.code])
  const answer = await send('?onExisting=return', { 'Idempotency-Key': 'reuse' })
  const made = told(answer)[1]?.[1]
  expect(told(answer)).toEqual([
    [200, old['code']],
    [201, expect.any(String)],
    [200, made],
    [400, undefined],
    [400, undefined],
  ])
  expect((await send('?onExisting=return', { 'Idempotency-Key': 'reuse' })).text).toBe(answer.text)
  expect(told(await send('?onExisting=return')).slice(0, 3)).toEqual([
    [200, old['code']],
    [200, made],
    [200, made],
  ])
  expect(told(await send('')).map(([status]) => status)).toEqual([201, 201, 201, 201, 400])
})
