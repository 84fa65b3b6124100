// The way in, and the people of a tenant, in a real browser: a link from the terminal, an invitation, an identity provider.
import { afterAll, expect, test } from 'vitest'
import { freePort } from '../../embedded/process.ts'
import { waitFor } from '../../embedded/wait.ts'
import { newTenant } from '../../testing/http.ts'
import { startIdentityProvider } from '../../testing/identity-provider.ts'
import { expectSound, isTooWide, quickLink, signedIn, sizes, visit, type Visit } from './browser.ts'

const port = await freePort()
const idp = await startIdentityProvider(`http://localhost:${port}/api/v1/sign-in/oidc/callback`)
const provider = { OIDC_ISSUER: idp.issuer, OIDC_CLIENT_ID: 'quicklink', OIDC_CLIENT_SECRET: idp.clientSecret }
const at = await quickLink({ PORT: String(port), ...provider, OIDC_ROLES: 'staff=acme:editor' })
await newTenant({ url: at.server.url, api: at.server.api }, 'acme')
afterAll(() => idp.close())

const linkOf = async (): Promise<string> => String((await at.server.api('POST', '/sign-in-links')).body['url'])
const soundInBoth = async (one: Visit, what: string): Promise<void> => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await one.page.emulateMedia({ colorScheme })
    await expectSound(one, `${what}, ${colorScheme}`)
  }
}

test('a link from the terminal names the account, is in no address, and signs in by one button; a second one is taken on the same page', async () => {
  const first = await linkOf()
  const one = await visit(at, first.slice(at.url.length), { expectsRefusals: true })
  const { page } = one
  await page.getByRole('button', { name: 'Sign in as Owner' }).waitFor()
  expect(page.url()).toBe(`${at.url}/console/sign-in`)
  await soundInBoth(one, 'a link that signs in')
  // A newer link voids this one; it is pasted into the same tab, where only its fragment is new.
  const second = await linkOf()
  await page.getByRole('button', { name: 'Sign in as Owner' }).click()
  await page.getByRole('alert').getByText('This link does not sign in any more').waitFor()
  await page.goto(second)
  await page.getByRole('button', { name: 'Sign in as Owner' }).click()
  await page.getByRole('heading', { level: 1, name: 'Links' }).waitFor()
  expect(one.offences()).toEqual([])
  await one.close()
})

test('a colleague is invited, signs in by the link, gets another role, and is removed', async () => {
  const one = await signedIn(at, '/console/members')
  const { page } = one
  await page.getByText('Nobody yet').waitFor()
  await soundInBoth(one, 'no members')
  await page.getByRole('button', { name: 'Invite somebody' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Ada')
  await soundInBoth(one, 'invite somebody')
  await dialog.getByRole('button', { name: 'Invite somebody' }).click()
  await page.getByText('it is shown this once').waitFor()
  await soundInBoth(one, 'an invitation')
  await dialog.getByRole('button', { name: /Copy/ }).click()
  const invitation = await page.evaluate(() => navigator.clipboard.readText())
  expect(invitation).toMatch(/\/console\/sign-in#token=qi_/)
  await page.getByRole('button', { name: 'I have it' }).click()
  expect(await page.content()).not.toContain(invitation)

  const ada = await visit(at, invitation.slice(at.url.length), { expectsRefusals: true })
  await ada.page.getByRole('button', { name: 'Sign in as Ada' }).click()
  await ada.page.getByLabel('Address to shorten').waitFor()
  expect(await ada.page.getByRole('link', { name: 'Members' }).count()).toBe(0)

  await page.reload()
  await page.getByText(/Editor · signed in/).waitFor()
  const choose = async (item: string): Promise<void> => {
    await page.getByRole('button', { name: 'Actions for Ada' }).click()
    await page.getByRole('menuitem', { name: item }).click()
  }
  await page.getByRole('button', { name: 'Actions for Ada' }).click()
  await soundInBoth(one, 'what is done to a member')
  await page.getByRole('menuitem', { name: 'Change name or role' }).click()
  await dialog.getByRole('button', { name: /Role/ }).click()
  await page.getByRole('option', { name: /^Viewer/ }).click()
  await soundInBoth(one, 'change a member')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/Viewer · signed in/).waitFor()

  await choose('New invitation')
  await page.getByText('it is shown this once').waitFor()
  await page.getByRole('button', { name: 'I have it' }).click()

  await choose('Remove')
  await soundInBoth(one, 'remove a member')
  await dialog.getByRole('button', { name: 'Remove' }).click()
  await page.getByText('Nobody yet').waitFor()
  await waitFor(async () => {
    await ada.page.reload()
    return ada.page.getByRole('heading', { name: 'Sign in' }).isVisible()
  })
  await page.setViewportSize(sizes.phone)
  expect(await isTooWide(page)).toBe(false)
  expect(one.offences()).toEqual([])
  await Promise.all([one.close(), ada.close()])
})

test('who is sent to the identity provider comes back to where he wanted to go; who has no group reads why', async () => {
  idp.people.set('ada', { name: 'Ada', groups: ['staff'], by: 'id_token' })
  const ada = await visit(at, '/console/account')
  await ada.page.getByRole('link', { name: /^Sign in by / }).waitFor()
  await soundInBoth(ada, 'sign in')
  await ada.page.setExtraHTTPHeaders({ 'X-Person': 'ada' })
  await ada.page.getByRole('link', { name: /^Sign in by / }).click()
  await ada.page.getByRole('heading', { level: 1, name: 'My account' }).waitFor()
  await ada.page.getByText('This one', { exact: true }).waitFor()
  // The way led to the provider, and nowhere else.
  expect(ada.offences().filter((offence) => !offence.includes(idp.issuer))).toEqual([])
  await ada.close()

  idp.people.set('eve', { name: 'Eve' })
  const eve = await visit(at, '/console', { expectsRefusals: true })
  await eve.page.setExtraHTTPHeaders({ 'X-Person': 'eve' })
  await eve.page.getByRole('link', { name: /^Sign in by / }).click()
  await eve.page.getByText('the claim groups is missing').waitFor()
  expect(await eve.findings()).toEqual([])
  await eve.page.getByRole('link', { name: 'Other ways to sign in' }).click()
  await eve.page.getByLabel('API key').waitFor()
  await eve.close()
})
