// Statistics, as somebody reads them: from real visits, in a real browser.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { dimensions } from '../../server/visits/batch.ts'
import { pack } from '../../server/visits/cells.ts'
import { created } from '../../testing/http.ts'
import { handInPsql, waitFor } from '../../testing/services.ts'
import { expectSound, quickLink, signedIn, sizes } from './browser.ts'

const chrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
const dayMs = 86_400_000

const at = await quickLink()
const made = await created(at.server.api, '/links', { url: 'https://example.org/', tags: ['campaign'] })
const code = String(made['code'])
const follow = (userAgent: string, referer: string): Promise<Response> =>
  fetch(`${at.server.url}/${code}`, { redirect: 'manual', headers: { 'User-Agent': userAgent, Referer: referer } })
for (let n = 0; n < 3; n++) await follow(chrome, 'https://news.example/')
await follow('Twitterbot/1.0', 'https://t.example/')
await waitFor(async () => (await at.server.api('GET', '/stats')).body['total'] === 4)
await history()

/** Of the tenant, ten days back: by a sample where values are estimates. */
async function history(): Promise<void> {
  const hand = handInPsql(at.databaseUrl)
  const first = Math.floor(Date.now() / dayMs) * dayMs - 10 * dayMs
  await hand.query('select ql_visit_partitions($1, now())', [new Date(first)])
  const cells = pack(new Map([['shop.example', { total: 60, people: 60 }], ['<img src=x onerror="window.hurt=1">', { total: 20, people: 15 }]])) // prettier-ignore
  // Whole days are read as days, and the chart by the hour.
  for (const table of ['visit_hours', 'visit_days']) {
    for (let n = 0; n < 9; n++) {
      await hand.query(
        `insert into ${table} (subject, at, total, people, detailed, ${dimensions[0]}) values ('t/owner', $1, 100, 80, 20, $2)`,
        [new Date(first + n * dayMs), cells],
      )
    }
  }
}

test('who came is told by a chart and its table, people and bots apart, estimates with their error, and as CSV', async () => {
  const one = await signedIn(at, '/console/stats')
  const { page } = one
  const figure = (name: string) => page.locator('.figures > div').filter({ has: page.getByText(name, { exact: true }) })
  await figure('Visits').getByText('904', { exact: true }).waitFor()
  await figure('People').getByText('723', { exact: true }).waitFor()
  await figure('Bots and previews').getByText('181', { exact: true }).waitFor()
  await page.getByRole('row', { name: /shop\.example.* 540 ±/ }).waitFor()
  await page.getByRole('row', { name: /^news\.example 3 .*3$/ }).waitFor()
  await page.getByText(/values with a ± are estimates/).waitFor()
  expect(await page.evaluate(() => 'hurt' in globalThis)).toBe(false)
  await page.locator('.chart canvas').waitFor()
  await page.getByText('As a table').click()
  expect(await page.getByRole('region', { name: 'As a table' }).getByRole('row').count()).toBe(31)
  await expectSound(one, 'statistics')

  const [table] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()])
  expect(readFileSync(await table.path(), 'utf8')).toContain('shop.example,540,540')

  // Another dimension, by the keyboard.
  await page.getByRole('button', { name: /Referring site/ }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('option', { name: 'Browser' }).waitFor()
  await page.keyboard.type('Browser')
  await page.keyboard.press('Enter')
  await page.getByRole('row', { name: /^Chrome 142 3 / }).waitFor()
  await expectSound(one, 'statistics by browser')
  await one.close()
})

test('a part of the time is dragged or typed, and stands in the address', async () => {
  const one = await signedIn(at, '/console/stats')
  const { page } = one
  const over = page.locator('.chart .u-over')
  await over.waitFor()
  const box = (await over.boundingBox())!
  await page.mouse.move(box.x + box.width * 0.75, box.y + 50)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.9, box.y + 60, { steps: 4 })
  await page.mouse.up()
  await waitFor(() => /from=.*&to=/.test(page.url()))
  await page.getByRole('textbox', { name: 'From' }).waitFor()
  await expectSound(one, 'a time of its own')
  await page.getByRole('textbox', { name: 'From' }).fill('2020-01-01T00:00:00')
  await waitFor(() => page.url().includes('from=2019-12-31T23%3A00'))
  await one.close()
})

test.each(['light', 'dark'] as const)(
  'statistics of a link and a tag are sound on a phone, %s',
  async (colorScheme) => {
    const one = await signedIn(at, `/console/links/${code}`, { colorScheme, viewport: sizes.phone })
    const { page } = one
    await page.getByRole('link', { name: 'All statistics' }).click()
    await page.getByRole('heading', { level: 1, name: `Statistics of ${code}` }).waitFor()
    await page.getByRole('row', { name: 'news.example 3 3' }).waitFor()
    await page.locator('.chart canvas').waitFor()
    await expectSound(one, 'of a link')
    await page.goto(`${at.url}/console?tag=campaign`)
    await page.getByRole('link', { name: 'Statistics of campaign' }).click()
    await page.getByRole('row', { name: 't.example 1 0' }).waitFor()
    await expectSound(one, 'of a tag')
    await one.close()
  },
)
