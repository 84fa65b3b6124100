// Redis and Postgres go away while somebody edits a link: nothing that was typed is lost, and the page says what is the matter.
import { expect, test } from 'vitest'
import { created } from '../../testing/http.ts'
import { freshDatabase, freshRedis, proxied } from '../../testing/services.ts'
import { quickLink, signedIn } from './browser.ts'

test('an edit outlives Redis and Postgres, and is saved when they are back', async () => {
  const database = await proxied(await freshDatabase())
  const redis = await proxied(await freshRedis())
  const at = await quickLink({ DATABASE_URL: database.url, REDIS_URL: redis.url })
  await created(at.server.api, '/links', { url: 'https://example.org/', code: 'kept', title: 'before' })
  const one = await signedIn(at, '/console/links/kept', { expectsRefusals: true })
  const { page } = one
  const save = page.getByRole('button', { name: 'Save' })
  await page.getByLabel('Title').fill('typed in the dark')

  await redis.proxy.refuse()
  await database.proxy.refuse()
  await save.click()
  await page.locator('.save [role="alert"]').waitFor()
  expect(await page.locator('.save [role="alert"]').textContent()).toMatch(/\w{3}/)
  expect(await page.getByLabel('Title').inputValue()).toBe('typed in the dark')
  expect(await page.getByRole('heading', { name: 'Sign in' }).count()).toBe(0)

  // Without Redis it goes on.
  await database.proxy.pass()
  await expect
    .poll(
      async () => {
        if (await page.getByText('Saved').isVisible()) return true
        await save.click({ timeout: 5000 })
        return page.getByText('Saved').isVisible()
      },
      { timeout: 60_000, interval: 1000 },
    )
    .toBe(true)
  await redis.proxy.pass()
  expect((await at.server.api('GET', '/links/kept')).body['title']).toBe('typed in the dark')
  expect(one.offences()).toEqual([])
  await one.close()
})
