// What must not be possible, and what every page has to be: safe, for everybody, and small.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { created } from '../../testing/http.ts'
import { expectSound, quickLink, signedIn, sizes, visit } from './browser.ts'

const pages = ['', '/new', '/links/spring', '/stats', '/stats?code=spring', '/imports', '/members', '/keys', '/tenants', '/tenants/acme', '/domains', '/audit', '/system', '/account', '/nothing-here'] // prettier-ignore

/** Whatever a person can type, said by somebody who means harm. */
const script = `"'><img src=x onerror="window.hurt=1"><script>window.hurt=1</script>`

const at = await quickLink()
const { api } = at.server
const rules = [{ url: `https://example.org/?${encodeURIComponent(script)}`, when: { language: 'de', query: { from: script.slice(0, 90) } } }] // prettier-ignore
await created(api, '/links', { url: `https://example.org/?${script}`, code: 'spring', title: script, note: script, tags: ['<img src=x onerror="window.hurt=1">', 'Ä'], rules }) // prettier-ignore
await created(api, '/links', {
  url: 'https://example.org/',
  code: 'guarded',
  password: 'correct horse',
  title: script,
})
await created(api, '/tenants', { id: 'acme', name: script, tier: 'standard' })
await created(api, '/tenants/acme/keys', { name: script, role: 'admin' })
await created(api, '/domains', { host: 'go.example.com' })

test.each(['light', 'dark'] as const)('every page is sound, %s, on a desk and on a phone, with what a harmful person has typed', async (colorScheme) => {
  const one = await signedIn(at, '/console', { colorScheme })
  for (const viewport of Object.values(sizes)) {
    await one.page.setViewportSize(viewport)
    for (const path of pages) {
      await one.page.goto(`${at.url}/console${path}`)
      await one.page.locator('h1').waitFor()
      await one.page.waitForLoadState('networkidle')
      await expectSound(one, `${path} ${colorScheme} ${viewport.width}`)
      expect(await one.page.evaluate(() => 'hurt' in globalThis), path).toBe(false)
      const hrefs = await one.page.evaluate(() => Array.from(document.querySelectorAll('a'), ({ href }) => href))
      expect(hrefs.filter((href) => !/^https?:\/\//.test(href))).toEqual([])
    }
  }
  await one.close()
}) // prettier-ignore

test.each(['desk', 'phone'] as const)('every dialog and menu is sound when it is open, light and dark, on a %s', async (size) => {
  const isPhone = size === 'phone'
  const one = await signedIn(at, '/console/tenants', { viewport: sizes[size], expectsRefusals: true })
  const { page } = one
  const press = (name: string | RegExp): Promise<void> => page.getByRole('button', { name }).first().click()
  const pick = (name: string): Promise<void> => page.getByRole('menuitem', { name }).click()
  const go = (path: string): Promise<unknown> => page.goto(`${at.url}/console${path}`)
  const sound = async (what: string): Promise<void> => {
    await page.locator('.overlay, .popover').first().waitFor() // prettier-ignore
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await expectSound(one, `${what}, ${colorScheme}`)
    }
  }
  const close = async (): Promise<void> => {
    await page.keyboard.press('Escape')
    await page.locator('.overlay, .popover').first().waitFor({ state: 'detached' }) // prettier-ignore
  }
  const look = async (what: string): Promise<void> => {
    await sound(what)
    await close()
  }
  await press('Make a tenant')
  await look('make a tenant')

  await go('/tenants/acme')
  await press('Make a key')
  await sound('make a key')
  await page.getByRole('dialog').getByLabel('Name').fill(`a key for a ${size}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Make a key' }).click()
  await page.getByText('Copy it now').waitFor()
  await look('a key, once')
  await press(/^Revoke/)
  await look('revoke a key')
  await press('Delete tenant')
  await look('delete a tenant')

  await go('/domains')
  await press('Add a domain')
  await look('add a domain')

  await go('/members')
  await press('Invite somebody')
  await sound('invite somebody')
  await page.getByRole('dialog').getByLabel('Name').fill(script.slice(0, 60))
  await page.getByRole('dialog').getByRole('button', { name: 'Invite somebody' }).click()
  await page.getByText('it is shown this once').waitFor()
  await look('an invitation')
  await press(/^Actions for/)
  await sound('what is done to a member')
  await pick('Change name or role')
  await look('change a member')
  await press(/^Actions for/)
  await pick('Remove')
  await look('remove a member')

  await go('/links/spring')
  await page.getByLabel('Note').fill(`mine on a ${size}`)
  await at.server.api('PATCH', '/links/spring', { note: `theirs on a ${size}` })
  await press('Save')
  await page.getByRole('dialog').getByRole('button', { name: 'Save mine' }).waitFor()
  await look('a conflict')

  await go('')
  await press('Actions for guarded')
  await sound('what is done to a link')
  await pick('Delete')
  await page.getByRole('dialog').waitFor()
  await look('delete what cannot be made again')
  await press(/Any state/)
  await look('a choice')
  await press('Export')
  await look('export')
  if (!isPhone) {
    await press('Columns')
    await look('columns')
  }
  await press(isPhone ? 'Pages' : /Signed in/)
  await look('a menu of the frame')
  await page.locator('h1').click()
  await page.keyboard.press('?')
  await look('shortcuts')
  for (const code of ['spring', 'guarded']) await page.getByRole('checkbox', { name: new RegExp(`/${code}$`) }).click()
  await press('Add tags')
  await look('tags for many')
  await press('Remove a tag')
  await look('a tag that many have')
  await page.getByRole('toolbar').getByRole('button', { name: 'Export' }).click()
  await look('export what is chosen')
  await page.getByRole('toolbar').getByRole('button', { name: 'Delete' }).click()
  await look('delete many')
  expect(await page.evaluate(() => 'hurt' in globalThis)).toBe(false)
  await one.close()
}) // prettier-ignore

test('a key that is typed stands in no address, and in no line of the log', async () => {
  const asked: string[] = []
  const one = await visit(at, '/console')
  one.page.on('request', (request) => asked.push(request.url()))
  await one.page.getByLabel('API key').fill(at.server.key)
  await one.page.keyboard.press('Enter')
  await one.page.getByRole('heading', { level: 1, name: 'Links' }).waitFor()
  expect(asked.filter((url) => url.includes(at.server.key))).toEqual([])
  expect(at.server.output()).not.toContain(at.server.key)
  // No script can read what the browser sends.
  expect(await one.page.evaluate(() => document.cookie)).not.toContain('quicklink-session')
  await one.close()
})

test('no page of others shows the console in a frame', async () => {
  const one = await signedIn(at, '/console', { expectsRefusals: true })
  await one.page.setContent(`<iframe src="${at.url}/console"></iframe>`)
  await one.page.waitForLoadState('networkidle')
  // What a browser shows in its place.
  expect(one.page.frames()[1]?.url()).toMatch(/^chrome-error:/)
  await one.close()
})

test('a viewer is shown nothing to change, and no page of the owner', async () => {
  const made = await at.server.api('POST', '/tenants/acme/keys', { name: 'reader', role: 'viewer' })
  const one = await signedIn(at, '/console', {}, String(made.body['key']))
  await one.page.getByRole('heading', { name: 'No links yet' }).waitFor()
  expect(await one.page.getByLabel('Address to shorten').count()).toBe(0)
  expect(await one.page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents()).toEqual(['Links', 'Statistics', 'My account']) // prettier-ignore
  for (const path of ['/tenants', '/members', '/keys', '/new', '/imports']) {
    await one.page.goto(`${at.url}/console${path}`)
    await one.page.getByRole('heading', { name: 'There is nothing here' }).waitFor()
  }
  expect(one.offences()).toEqual([])
  await one.close()
})

const built = new URL('../dist/', import.meta.url).pathname
const kB = (names: readonly string[]): number =>
  names.reduce((sum, name) => sum + statSync(join(built, 'assets', `${name}.gz`)).size, 0) / 1000

test('the first page takes at most 200 kB, a part that comes later 60, styles 15', () => {
  const index = readFileSync(join(built, 'index.html'), 'utf8')
  const first = Array.from(index.matchAll(/assets\/([\w.-]+\.(?:js|css))/g), ([, name = '']) => name)
  const all = readdirSync(join(built, 'assets')).filter((name) => /\.(?:js|css)$/.test(name))
  const later = all.filter((name) => !first.includes(name))
  const sizes = { first: kB(first), largestLater: Math.max(...later.map((name) => kB([name]))), css: kB(all.filter((name) => name.endsWith('.css'))) } // prettier-ignore
  console.log(sizes)
  expect(first.length).toBeGreaterThan(1)
  expect(sizes.first).toBeLessThanOrEqual(200)
  expect(sizes.largestLater).toBeLessThanOrEqual(60)
  expect(sizes.css).toBeLessThanOrEqual(15)
})
