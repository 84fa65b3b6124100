// Many links at once: a file that is imported, links that are chosen, a list that is exported.
import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'
import { expectSound, quickLink, signedIn, sizes, type At } from './browser.ts'

let at: At
beforeAll(async () => {
  at = await quickLink()
})

const enabled = async (codes: readonly string[]): Promise<unknown[]> =>
  Promise.all(codes.map(async (code) => (await at.server.api('GET', `/links/${code}`)).body['enabled']))

const file = (rows: readonly string[]) => ({ name: 'links.csv', mimeType: 'text/csv', buffer: Buffer.from(`code,url,tags\n${rows.join('\n')}\n`) }) // prettier-ignore

test('a file is tried, imported and told of, with the rows that were refused', async () => {
  const one = await signedIn(at, '/console/imports', { viewport: sizes.phone })
  const { page } = one
  await page.getByText('No import yet').waitFor()
  await expectSound(one, 'no import yet')
  const rows = ['one,https://example.org/1,old', 'two,https://example.org/2,old', 'api,https://example.org/3,', 'four,ftp://example.org/,'] // prettier-ignore
  await page.locator('input[type=file]').setInputFiles(file(rows))
  await page.getByRole('button', { name: 'Try it first' }).click()
  const counted = (name: string) => page.locator('.counts > div').filter({ has: page.getByText(name, { exact: true }) })
  await page.getByText('Done', { exact: true }).waitFor()
  await counted('Would be made').getByText('2', { exact: true }).waitFor()
  await counted('Refused').getByText('2', { exact: true }).waitFor()
  expect((await at.server.api('GET', '/links/one')).status).toBe(404)
  await expectSound(one, 'a try')

  await page.getByRole('button', { name: 'Import it for real' }).click()
  await counted('Made').getByText('2', { exact: true }).waitFor()
  expect((await at.server.api('GET', '/links/one')).body).toMatchObject({ url: 'https://example.org/1', tags: ['old'] })
  const [refused] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: /Rows that were refused/ }).click()]) // prettier-ignore
  const table = readFileSync(await refused.path(), 'utf8')
  expect(table).toMatch(/^line,reason,/)
  expect(table.trim().split('\n')).toHaveLength(3)
  await page.getByRole('heading', { name: 'Earlier imports' }).scrollIntoViewIfNeeded()
  await page.getByText('a try').waitFor()
  await expectSound(one, 'an import')
  await one.close()
})

test('links are chosen by the keyboard, tagged, disabled and deleted together, and each is taken back', async () => {
  const codes = ['m-one', 'm-two', 'm-three']
  for (const code of codes) await at.server.api('POST', '/links', { url: `https://example.org/${code}`, code, ...(code === 'm-two' ? { tags: ['mine'] } : {}) }) // prettier-ignore
  const one = await signedIn(at, '/console?q=m-')
  const { page } = one
  const box = (code: string) => page.getByRole('checkbox', { name: new RegExp(`/${code}$`) })
  const undo = async (said: string, back: string): Promise<void> => {
    await page.getByRole('status').getByText(said).first().waitFor()
    await page.getByRole('button', { name: 'Undo' }).last().click()
    await page.getByText(back).waitFor()
  }
  // The newest is the first: from there to the last one, with Shift.
  const chooseAll = async (): Promise<void> => {
    await box('m-three').focus()
    await page.keyboard.press('Space')
    await box('m-one').focus()
    await page.keyboard.press('Shift+Space')
    await page.getByText('3 links chosen').waitFor()
  }
  await chooseAll()
  await expectSound(one, 'links that are chosen')
  await page.getByRole('button', { name: 'Disable' }).click()
  await waitFor(async () => !(await enabled(codes)).includes(true))
  await undo('3 links are changed', '3 links are as they were')
  expect(await enabled(codes)).toEqual([true, true, true])

  await chooseAll()
  await page.getByRole('button', { name: 'Add tags' }).click()
  await page.getByRole('dialog').getByLabel('Tags', { exact: true }).fill('mine')
  await page.keyboard.press('Enter')
  await expectSound(one, 'tags for many')
  await page.getByRole('dialog').getByRole('button', { name: 'Add tags' }).click()
  // One of them had it.
  await undo('2 links are changed', '2 links are as they were')
  expect((await at.server.api('GET', '/links?tag=mine')).body['items']).toMatchObject([{ code: 'm-two' }])

  await page.getByRole('checkbox', { name: 'Choose all of this page' }).click()
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'No link fits' }).waitFor()
  await undo('3 links are deleted', '3 links are back')
  await box('m-one').waitFor()
  expect(await enabled(codes)).toEqual([true, true, true])
  expect(one.offences()).toEqual([])
  await one.close()
})

test('what the list shows is exported', async () => {
  await at.server.api('POST', '/links', { url: 'https://example.org/x', code: 'x-exported' })
  await at.server.api('POST', '/links', { url: 'https://example.org/y', code: 'y-not' })
  const one = await signedIn(at, '/console?q=x-')
  const { page } = one
  await page.getByRole('link', { name: /x-exported$/ }).first().waitFor() // prettier-ignore
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  await expectSound(one, 'export')
  const [table] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: /CSV/ }).click()]) // prettier-ignore
  const text = readFileSync(await table.path(), 'utf8')
  expect([text.includes('x-exported'), text.includes('y-not')]).toEqual([true, false])
  expect(one.offences()).toEqual([])
  await one.close()
})
