// Many links at once: a file that is imported, links that are chosen, a list that is exported.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'
import { apiOf, created } from '../../testing/http.ts'
import { expectSound, quickLink, signedIn, sizes } from './browser.ts'

const at = await quickLink()

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

test('a file that is dropped is sent with its progress shown; who stops it has imported nothing, and a file of no known form is refused in a sentence', async () => {
  const one = await signedIn(at, '/console/imports', { expectsRefusals: true })
  const { page } = one
  const line = await page.context().newCDPSession(page)
  const folder = mkdtempSync(join(tmpdir(), 'quicklink-drop-'))
  // As a hand would: by the browser, from a folder.
  const drop = async (name: string, text: string): Promise<void> => {
    writeFileSync(join(folder, name), text)
    const { x, y } = (await page.locator('.drop').boundingBox())!
    const data = { items: [], files: [join(folder, name)], dragOperationsMask: 1 }
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await line.send('Input.dispatchDragEvent', { type, x: x + 20, y: y + 20, data })
  }
  const perSecond = (bytes: number): Promise<unknown> =>
    line.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: bytes }) // prettier-ignore
  const before = (await at.server.api('GET', '/imports')).body['items']

  // Twenty seconds of it, of which nobody waits for more than the first.
  await perSecond(100_000)
  await drop('large.csv', `code,url\n${'dropped,https://example.org/\n'.repeat(70_000)}`)
  await page.getByText('large.csv, 2').waitFor()
  await page.getByRole('button', { name: 'Try it first' }).click()
  const progress = page.getByRole('progressbar', { name: 'How much of the file is sent' })
  await waitFor(async () => (await progress.evaluate((bar: HTMLProgressElement) => bar.value)) > 0)
  expect(await progress.evaluate((bar: HTMLProgressElement) => bar.value)).toBeLessThan(1)
  await expectSound(one, 'a file on its way')
  await page.getByRole('button', { name: 'Stop sending' }).click()
  await page.getByText('Nothing was imported: you stopped it.').waitFor()
  await expectSound(one, 'a file that was stopped')
  expect((await at.server.api('GET', '/imports')).body['items']).toEqual(before)

  await perSecond(-1)
  await drop('cats.txt', 'what is this\nnobody knows\n')
  await page.getByText('cats.txt').waitFor()
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByRole('alert').getByText('This is none of the files').waitFor()
  await expectSound(one, 'a file of no known form')
  expect((await at.server.api('GET', '/imports')).body['items']).toEqual(before)
  rmSync(folder, { recursive: true })
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

test('all that fit a search are chosen, beyond the page: disabled, exported, deleted, and each is taken back', async () => {
  const codes = Array.from({ length: 60 }, (_, n) => `fit-${String(n).padStart(3, '0')}`)
  const links = codes.map((code, n) => ({
    code,
    url: `https://example.org/${code}`,
    title: n === 7 ? '=1+1, "x"' : null,
  }))
  expect((await at.server.api('POST', '/links/bulk', { links })).status).toBe(200)
  const one = await signedIn(at, '/console?q=fit-')
  const { page } = one
  const chooseAll = async (): Promise<void> => {
    await page.getByRole('checkbox', { name: 'Choose all of this page' }).click()
    await page.getByText('50 links chosen').waitFor()
    await page.getByRole('button', { name: 'Choose all that fit' }).click()
    await page.getByText('60 links chosen').waitFor()
  }
  const disabled = async (): Promise<unknown> => (await at.server.api('GET', '/links?q=fit-&state=disabled&limit=100')).body['items'] // prettier-ignore
  await chooseAll()
  await expectSound(one, 'all that fit')
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('60 links are changed').waitFor()
  expect(await disabled()).toHaveLength(60)
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('60 links are as they were').waitFor()
  expect(await disabled()).toEqual([])

  await chooseAll()
  // One of them is not meant.
  await page.getByRole('checkbox', { name: /fit-059$/ }).click()
  await page.getByText('59 links chosen').waitFor()
  await page.getByRole('toolbar').getByRole('button', { name: 'Export' }).click()
  const [table] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: /CSV/ }).click()]) // prettier-ignore
  const linesOf = (text: string): string[] => text.trim().split('\r\n').toSorted()
  const all = await at.server.api('GET', '/links/export?q=fit-')
  expect(linesOf(readFileSync(await table.path(), 'utf8'))).toEqual(linesOf(all.text).filter((line) => !line.startsWith('fit-059'))) // prettier-ignore

  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('59 links are deleted').waitFor()
  expect((await at.server.api('GET', '/links?q=fit-')).body['items']).toMatchObject([{ code: 'fit-059' }])
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('59 links are back').waitFor()
  expect((await at.server.api('GET', '/links/fit-007')).body).toMatchObject({ title: '=1+1, "x"', enabled: true })
  expect(one.offences()).toEqual([])
  await one.close()
})

test('who may not make as many again in this hour is asked before they are deleted', async () => {
  await created(at.server.api, '/tenants', { id: 'small', name: 'Small', tier: 'standard' })
  const { key } = (await created(at.server.api, '/tenants/small/keys', { name: 'all day', role: 'editor' })) as { key: string } // prettier-ignore
  const api = apiOf(at.server.url, key)
  expect((await api('POST', '/links/bulk', { links: Array.from({ length: 30 }, () => ({ url: 'https://example.org/' })) })).status).toBe(200) // prettier-ignore
  const one = await signedIn(at, '/console', {}, key)
  const { page } = one
  await page.getByRole('checkbox', { name: 'Choose all of this page' }).click()
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByText('Not all of this can be undone').waitFor()
  await expectSound(one, 'delete what cannot all be made again')
  await one.close()
})

test('an export that is refused says why', async () => {
  const one = await signedIn(at, `/console?q=${'x'.repeat(201)}`, { expectsRefusals: true })
  await one.page.getByRole('button', { name: 'Export', exact: true }).click()
  await one.page.getByRole('menuitem', { name: /CSV/ }).click()
  await one.page.getByRole('status').getByText('q must have at most 200 characters').waitFor()
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
