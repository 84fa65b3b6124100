// What people do with the console, from the first start on, in a real browser at a real server.
import { expect, test } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'
import { created } from '../../testing/http.ts'
import { expectSound, quickLink, signedIn, signIn, sizes, visit } from './browser.ts'

const at = await quickLink()

const follow = async (code: string): Promise<number> =>
  (await fetch(`${at.server.url}/${code}`, { redirect: 'manual' })).status

test('from the first start: the owner signs in, makes a link, changes it, disables it, takes that back, and makes a key for a team', async () => {
  const one = await visit(at, '/console')
  await expectSound(one, 'sign in')
  await signIn(one, at.server.key)
  const { page } = one
  await page.getByRole('heading', { name: 'No links yet' }).waitFor()
  await expectSound(one, 'no links yet')

  // Paste, Enter: copied.
  await page.getByLabel('Address to shorten').fill('example.org/spring?from=mail')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText(/is copied/).waitFor() // prettier-ignore
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  const code = copied.split('/').at(-1) ?? ''
  expect(copied).toBe(`${at.url}/${code}`)
  expect(await follow(code)).toBe(302)

  // There is already a link to this.
  await page.getByLabel('Address to shorten').fill('https://example.org/spring?from=mail')
  await page.getByText('There is already a link to this:').waitFor()
  await page.getByLabel('Address to shorten').fill('')

  // Its title is changed where it stands.
  await page.getByRole('button', { name: `Add a title: ${code}` }).click()
  await page.getByRole('textbox', { name: 'Title' }).fill('Spring')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Change the title: Spring' }).waitFor()

  // Its target is changed on its page.
  await page.getByRole('link', { name: copied.replace('http://', ''), exact: true }).click()
  await page.getByLabel('Leads to').first().fill('https://example.org/summer')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
  await waitFor(async () => {
    const answer = await fetch(`${at.server.url}/${code}`, { redirect: 'manual' })
    return answer.headers.get('location') === 'https://example.org/summer'
  })

  // Disabled, and taken back.
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByText(`${code} is disabled`).waitFor()
  await waitFor(async () => (await follow(code)) === 404)
  await page.getByRole('button', { name: 'Undo' }).click()
  await waitFor(async () => (await follow(code)) === 302)

  // Deleted, and taken back.
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText(`${code} is deleted`).waitFor()
  await waitFor(async () => (await follow(code)) === 404)
  await page.getByRole('button', { name: 'Undo' }).click()
  await waitFor(async () => (await follow(code)) === 302)

  // A tenant, and a key for it, which works.
  await page.getByRole('link', { name: 'Tenants' }).click()
  await page.getByRole('button', { name: 'Make a tenant' }).click()
  await page.getByLabel('Name').fill('Acme')
  await page.getByLabel('Id').fill('acme')
  await page.getByRole('dialog').getByRole('button', { name: 'Make a tenant' }).click()
  await page.getByRole('heading', { level: 1, name: 'Acme' }).waitFor()
  await page.getByRole('button', { name: 'Make a key' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('their website')
  await page.getByRole('dialog').getByRole('button', { name: 'Make a key' }).click()
  await page.getByText('Copy it now').waitFor()
  await expectSound(one, 'a key, once')
  const key = (await page.getByRole('dialog').locator('pre').first().textContent()) ?? ''
  const asked = await fetch(`${at.server.url}/api/v1/limits`, { headers: { Authorization: `Bearer ${key}` } })
  expect([asked.status, ((await asked.json()) as { tier: string }).tier]).toEqual([200, 'standard'])
  await page.getByRole('button', { name: 'I have it' }).click()
  expect(await page.content()).not.toContain(key)

  // Out.
  await page.getByRole('button', { name: /Signed in/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(one.offences()).toEqual([])
  await one.close()
})

test('a link is made, found, opened and disabled by the keyboard alone', async () => {
  const one = await visit(at, '/console')
  const { page } = one
  // The key's field has the focus when the page is there.
  await page.getByLabel('API key').waitFor()
  await page.keyboard.type(at.server.key)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Links' }).waitFor()
  await page.keyboard.type('https://example.org/by-keyboard')
  await page.keyboard.press('Enter')
  await page.getByText(/is copied/).waitFor()
  const tabTo = async (name: RegExp): Promise<void> => {
    for (let n = 0; n < 60; n++) {
      await page.keyboard.press('Tab')
      const said = await page.evaluate(() => {
        const { activeElement: at } = document
        return at?.getAttribute('aria-label') ?? at?.textContent ?? ''
      })
      if (name.test(said)) return
    }
    throw new Error(`The keyboard does not get to ${name}`)
  }
  await tabTo(/^Actions for /)
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem', { name: 'Disable' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByText(/is disabled: visitors find nothing/).waitFor()
  expect(one.offences()).toEqual([])
  await one.close()
})

test('who saves what somebody else has changed meanwhile is shown both versions, and loses neither', async () => {
  await at.server.api('POST', '/links', { url: 'https://example.org/a', code: 'fought-over', title: 'first' })
  const one = await signedIn(at, '/console/links/fought-over', { expectsRefusals: true })
  const { page } = one
  await page.getByLabel('Title').fill('mine')
  await at.server.api('PATCH', '/links/fought-over', { title: 'theirs', note: 'kept' })
  await page.getByRole('button', { name: 'Save' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('theirs', { exact: true }).waitFor()
  await dialog.getByText('mine', { exact: true }).waitFor()
  await expectSound(one, 'a conflict')
  await dialog.getByRole('button', { name: 'Save mine' }).click()
  await page.getByText('Saved').waitFor()
  expect((await at.server.api('GET', '/links/fought-over')).body).toMatchObject({ title: 'mine', note: 'kept' })
  await one.close()
})

test('rules change their order by keyboard, and the focus stays with the one that was moved', async () => {
  const rules = [
    { url: 'https://example.org/one', when: { os: 'ios' } },
    { url: 'https://example.org/two', when: { os: 'android' } },
  ]
  await at.server.api('POST', '/links', { url: 'https://example.org/', code: 'ruled', rules })
  const one = await signedIn(at, '/console/links/ruled')
  await one.page.getByRole('button', { name: 'Move rule 2 up' }).focus()
  await one.page.keyboard.press('Enter')
  await waitFor(async () => (await one.page.evaluate(() => document.activeElement?.getAttribute('aria-label'))) === 'Move rule 1 down') // prettier-ignore
  await one.page.getByRole('button', { name: 'Save' }).click()
  await one.page.getByText('Saved').waitFor()
  expect((await at.server.api('GET', '/links/ruled')).body['rules']).toEqual(rules.toReversed())
  expect(one.offences()).toEqual([])
  await one.close()
})

test('what the list shows is in its address: searched, filtered, sorted, and gone back to', async () => {
  for (const code of ['alpha-x', 'beta-x']) await at.server.api('POST', '/links', { url: `https://example.org/${code}`, code, tags: [code] }) // prettier-ignore
  const one = await signedIn(at, '/console')
  const { page } = one
  await page.getByLabel('Search links').fill('-x')
  await waitFor(() => page.url().endsWith('?q=-x'))
  await page.getByRole('button', { name: 'Only links with the tag alpha-x' }).click()
  await waitFor(() => page.url().includes('tag=alpha-x'))
  await page.getByRole('link', { name: /^localhost.*beta-x$/ }).waitFor({ state: 'detached' })
  await page.reload()
  await page.getByRole('link', { name: /^localhost.*alpha-x$/ }).first().waitFor() // prettier-ignore
  await page.goBack()
  await page.getByRole('link', { name: /^localhost.*beta-x$/ }).first().waitFor() // prettier-ignore
  await page.getByLabel('Search links').fill('nothing-is-called-so')
  await page.getByRole('heading', { name: 'No link fits' }).waitFor()
  await expectSound(one, 'none found')
  await one.close()
})

test('on a phone rows are cards, nothing is too wide, and the same can be done', async () => {
  const one = await signedIn(at, '/console', { viewport: sizes.phone, hasTouch: true })
  const { page } = one
  await page.getByLabel('Address to shorten').fill('https://example.org/from-a-phone')
  await page.getByRole('button', { name: 'Shorten' }).click()
  await page.getByText(/is copied/).waitFor()
  await expectSound(one, 'links on a phone')
  await page.getByRole('button', { name: 'Pages', exact: true }).click()
  await page.getByRole('menuitem', { name: 'My account' }).click()
  await page.getByRole('heading', { level: 1, name: 'My account' }).waitFor()
  await expectSound(one, 'my account on a phone')
  await one.close()
})

test('it speaks German whoever asks for it, and keeps the language and the theme that were chosen', async () => {
  const one = await visit(at, '/console', { locale: 'de-DE' })
  const { page } = one
  await page.getByLabel('API-Schlüssel').fill(at.server.key)
  await page.getByRole('button', { name: 'Anmelden' }).click()
  await page.getByRole('link', { name: 'Mein Konto' }).click()
  await page.getByRole('button', { name: /Farben/ }).click()
  await page.getByRole('option', { name: 'Dunkel' }).click()
  await page.getByRole('button', { name: /Sprache/ }).click()
  await page.getByRole('option', { name: 'English' }).click()
  await page.getByRole('heading', { name: 'My account' }).waitFor()
  // In the page itself, so before anything is painted.
  const text = await (await page.request.get(`${at.url}/console`)).text()
  expect(text).toContain('data-theme="dark"')
  await page.reload()
  await page.getByRole('heading', { name: 'My account' }).waitFor()
  expect(await page.evaluate(() => document.documentElement.lang)).toBe('en')
  expect(one.offences()).toEqual([])
  await one.close()
})

test('a session that ends elsewhere is said so, and what comes next is signing in', async () => {
  const one = await signedIn(at, '/console', { expectsRefusals: true })
  const other = await signedIn(at, '/console/account')
  await other.page.getByRole('button', { name: 'End all, this one too' }).click()
  await other.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  // Half a second is remembered.
  await waitFor(async () => {
    await one.page.getByRole('link', { name: 'Links' }).click({ timeout: 1000 }).catch(() => undefined) // prettier-ignore
    await one.page.getByRole('link', { name: 'My account' }).click({ timeout: 1000 }).catch(() => undefined) // prettier-ignore
    return one.page.getByText('Your session has ended').isVisible()
  })
  await one.close()
  await other.close()
})

test('a link signs its person in once, and stands in no history', async () => {
  await created(at.server.api, '/tenants', { id: 'invited', name: 'Invited', tier: 'standard' })
  const { invitation } = (await created(at.server.api, '/members', { name: 'Ada', role: 'editor', tenant: 'invited' })) as { invitation: { url: string } } // prettier-ignore
  const path = invitation.url.slice(at.url.length)
  const one = await visit(at, path)
  const { page } = one
  await page.getByText('tenant invited, role Editor').waitFor()
  expect(page.url()).toBe(`${at.url}/console/sign-in`)
  await expectSound(one, 'sign in by a link')
  await page.getByRole('button', { name: 'Sign in as Ada' }).click()
  await page.getByRole('heading', { name: 'No links yet' }).waitFor()
  await page.getByRole('button', { name: /Ada/ }).waitFor()
  expect(one.offences()).toEqual([])
  await one.close()
  const again = await visit(at, path, { expectsRefusals: true })
  await again.page.getByRole('alert').waitFor()
  await again.page.getByRole('button', { name: 'Sign in with a key instead' }).click()
  await signIn(again, at.server.key)
  await again.close()
})

test('the owner sees how the server is, with who answered and each worker', async () => {
  await created(at.server.api, '/links', { url: 'https://example.org/', code: 'measured' })
  for (let n = 0; n < 20; n++) await follow('measured')
  const one = await signedIn(at, '/console/system')
  const { page } = one
  await page.getByRole('region', { name: 'The way of a redirect' }).getByText('Memory of a worker').waitFor()
  const { body } = await at.server.api('GET', '/system')
  const { tier1, redis, postgres } = body['answered'] as Record<string, number>
  expect(tier1! + redis! + postgres!).toBeGreaterThanOrEqual(20)
  expect(body).toMatchObject({ phase: 'serving', health: { status: 'ok' }, frontDoor: 'raw', links: { grafana: null } })
  expect(body['workers']).toMatchObject([{ serving: true, redis: 'closed', postgres: 'closed' }])
  await page.getByText('Nothing needs a look.').waitFor()
  await expectSound(one, 'system')
  await one.close()
})

test('single keys lead on, are silent in fields, and can be switched off', async () => {
  const one = await signedIn(at, '/console/account')
  const { page } = one
  const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
  await heading('My account')
  await page.keyboard.press('l')
  await heading('Links')
  await page.locator('h1').click()
  await page.getByLabel('Search links').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('nsl')
  await waitFor(() => page.url().endsWith('?q=nsl'))
  await page.locator('h1').click()
  await page.keyboard.press('n')
  await page.keyboard.type('example.org')
  expect(await page.getByLabel('Address to shorten').inputValue()).toBe('example.org')
  await page.locator('h1').click()
  await page.keyboard.press('s')
  await heading('Statistics of owner')
  await page.keyboard.press('?')
  await page.getByRole('dialog').getByText('This list').waitFor()
  await expectSound(one, 'shortcuts')
  await page.getByRole('dialog').getByText('Shortcuts', { exact: true }).click()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('l')
  await page.keyboard.press('?')
  expect([page.url(), await page.getByRole('dialog').count()]).toEqual([`${at.url}/console/stats`, 0])
  await one.close()
})
