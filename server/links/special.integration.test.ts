// Where a special link leads stands where no server looks that does not know of rules and passwords.
import { expect, it, test } from 'vitest'
import { adminUrlOf, connectRedis, freshDatabase, freshRedis, handInPsql } from '../../testing/services.ts'
import { send, startTestApp } from '../../testing/app.ts'
import { singleKeys } from '../redis-keys.ts'
import type { Code } from '../link.ts'

const target = 'https://target.example.org/'
const password = 'correct horse'
const rules = [{ when: { language: 'de' }, url: `${target}de` }]
const specials = { rules, password }

const databaseUrl = await freshDatabase()
const redisUrl = await freshRedis()
// A machine that is busy with other tests is not a Postgres that does not answer.
const app = await startTestApp({ databaseUrl, redisUrl, env: { REDIS_TIMEOUT_MS: '1000' } })
const redis = await connectRedis(redisUrl)
const hand = handInPsql(adminUrlOf(databaseUrl))

const secrets = async (code: string): Promise<number> =>
  (await hand.query('select 1 from link_passwords p join links l on l.id = p.link_id where l.code = $1', [code])).length
const allSecrets = async (): Promise<number> => (await hand.query('select 1 from link_passwords')).length
const keyIn = async (code: string): Promise<string> => (await redis.getEach([singleKeys.link(code as Code)]))[0] ?? ''
const inRedis = async (code: string): Promise<string> => {
  await app.get(`/${code}`)
  // The fill is not waited for.
  await expect.poll(() => keyIn(code)).toContain('{')
  return keyIn(code)
}

it.each(['rules', 'password'] as const)(
  'a link with %s has an empty url in its row, and no `u` in Redis',
  async (what) => {
    const code = await app.create(target, { [what]: specials[what] })
    const [row] = await hand.query('select url, permanent from links where code = $1', [code])
    expect(row).toEqual({ url: '', permanent: false })
    const value = await inRedis(code)
    expect(JSON.parse(value)).not.toHaveProperty('u')
    if (what === 'password') expect(value).not.toContain('target')
    const all = await hand.query('select links::text as text from links where code = $1', [code])
    if (what === 'password') expect(JSON.stringify(all)).not.toContain('target')
  },
)

it.each(['rules', 'password'] as const)(
  'a server that does not know of %s cannot give such a link a target, nor make it permanent',
  async (what) => {
    const code = await app.create(target, { [what]: specials[what] })
    for (const change of [`url = '${target}'`, 'permanent = true']) {
      await expect(hand.query(`update links set ${change} where code = $1`, [code])).rejects.toThrow('links_special')
    }
  },
)

it('a plain link that becomes special leaves its target nowhere in Redis, and comes back as it was', async () => {
  const code = await app.create(target)
  expect(await inRedis(code)).toContain(target)
  await app.api('PATCH', `/links/${code}`, { password })
  await expect.poll(() => keyIn(code)).not.toContain(target)
  await app.api('PATCH', `/links/${code}`, { password: null })
  await expect.poll(async () => (await app.get(`/${code}`)).headers.location).toBe(target)
})

test('hash and target live as long as the password, or the row', async () => {
  const code = await app.create(target, { password })
  expect(await secrets(code)).toBe(1)
  await app.api('PATCH', `/links/${code}`, { password: null })
  expect(await secrets(code)).toBe(0)
  await app.api('PATCH', `/links/${code}`, { password })
  await app.api('DELETE', `/links/${code}`)
  const before = await allSecrets()
  await app.create(`${target}new`, { code, password })
  // The one before belonged to the link before.
  expect([await secrets(code), await allSecrets()]).toEqual([1, before])
  await hand.query('delete from links where code = $1', [code])
  expect(await allSecrets()).toBe(before - 1)
})

test('a change of a link with a password draws a version, like any other', async () => {
  const code = await app.create(target, { password })
  const version = async (): Promise<number> => Number((await app.api('GET', `/links/${code}`)).body['version'])
  const before = await version()
  await app.api('PATCH', `/links/${code}`, { url: `${target}else` })
  expect(await version()).toBeGreaterThan(before)
})

it.each(['[]', '{"a":1}', '"text"', '[{"url":7}]', '[{"when":{"os":7},"url":"https://a/"},{"url":"https://b/"}]'])(
  "rules that a hand has put in as %s lead nowhere, and are in nobody's way",
  async (text) => {
    const [code, other] = [await app.create(target, { rules }), await app.create(target)]
    await hand.query('update links set rules = $2::jsonb where code = $1', [code, text])
    await expect.poll(async () => (await app.get(`/${code}`)).status).toBe(500)
    expect((await app.api('GET', `/links/${code}`)).status).toBe(200)
    expect((await app.get(`/${other}`)).status).toBe(302)
  },
)

test('forms are counted by their answer, and no metric says of which link', async () => {
  const code = await app.create(target, { password })
  const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
  await send(app.url, 'POST', `/${code}`, `password=${encodeURIComponent(password)}`, form)
  await send(app.url, 'POST', `/${code}`, 'password=wrong+horse', form)
  expect(await app.metric('quicklink_password_forms_total', { status: '303' })).toBeGreaterThan(0)
  expect(await app.metric('quicklink_password_forms_total', { status: '401' })).toBeGreaterThan(0)
  expect(await app.metrics.registry.metrics()).not.toMatch(new RegExp(`${code}|horse`))
})
