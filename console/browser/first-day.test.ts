// The first day of a team, whole: the owner signs in, makes a link, makes a tenant and a key for a colleague, who brings links along from a file and sees who
// came. By pointer, by touch on a phone, and by the keyboard alone; and what the pages are at 400 %.
import { expect, test } from 'vitest'
import type { Page } from 'playwright-core'
import { waitFor } from '../../embedded/wait.ts'
import { expectSound, quickLink, signedIn, sizes, visit, type Visit } from './browser.ts'

const at = await quickLink()

/** How somebody uses a page. */
interface Hand {
  readonly press: (role: 'button' | 'link' | 'menuitem', name: string) => Promise<void>
  readonly type: (label: string, text: string) => Promise<void>
}

const pointer = ({ page }: Visit): Hand => ({
  press: (role, name) => page.getByRole(role, { name, exact: true }).last().click(),
  type: (label, text) => page.getByLabel(label, { exact: true }).last().fill(text),
})

/** What has the focus, as it is called. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const is = document.activeElement
    const label = is instanceof HTMLInputElement ? is.labels?.[0]?.textContent : undefined
    return (is?.getAttribute('aria-label') ?? label ?? is?.textContent ?? '').trim()
  })

function keyboard({ page }: Visit): Hand {
  const tabTo = async (name: string): Promise<void> => {
    for (let n = 0; n < 120; n++) {
      if ((await focused(page)) === name) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`The keyboard does not get to ${name}`)
  }
  return {
    async press(role, name) {
      // Not before it is there: the keyboard waits for nothing.
      await page.getByRole(role, { name, exact: true }).last().waitFor()
      await tabTo(name)
      await page.keyboard.press('Enter')
    },
    async type(label, text) {
      await page.getByLabel(label, { exact: true }).last().waitFor()
      await tabTo(label)
      await page.keyboard.type(text)
    },
  }
}

const ways = [
  { way: 'by pointer', id: 'desk', hand: pointer, options: { viewport: sizes.desk } },
  { way: 'by touch on a phone', id: 'phone', hand: pointer, options: { viewport: sizes.phone, hasTouch: true } },
  { way: 'by the keyboard alone', id: 'keys', hand: keyboard, options: { viewport: sizes.desk } },
] as const

test.each(ways)('from the first start to who came, $way', async ({ id, hand: handOf, options }) => {
  const isPhone = id === 'phone'
  const begin = async (key: string): Promise<Visit & { hand: Hand; go: (name: string) => Promise<void> }> => {
    const one = await visit(at, '/console', options)
    const hand = handOf(one)
    const go = async (name: string): Promise<void> => {
      if (isPhone) await hand.press('button', 'Pages')
      await hand.press(isPhone ? 'menuitem' : 'link', name)
      await one.page.getByRole('heading', { level: 1 }).filter({ hasText: name }).waitFor()
    }
    await hand.type('API key', key)
    await hand.press('button', 'Sign in')
    await one.page.getByRole('heading', { level: 1, name: 'Links' }).waitFor()
    return { ...one, hand, go }
  }
  const owner = await begin(at.server.key)
  await owner.hand.type('Address to shorten', `https://example.org/${id}`)
  await owner.hand.press('button', 'Shorten')
  await owner.page
    .getByRole('status')
    .getByText(/is copied$/)
    .waitFor()
  const [made] = (await at.server.api('GET', '/links?limit=1')).body['items'] as { code: string }[]
  expect((await fetch(`${at.server.url}/${made?.code}`, { redirect: 'manual' })).headers.get('location')).toBe(`https://example.org/${id}`) // prettier-ignore

  await owner.go('Tenants')
  await owner.hand.press('button', 'Make a tenant')
  await owner.hand.type('Name', `Team ${id}`)
  await owner.hand.type('Id', id)
  await owner.hand.press('button', 'Make a tenant')
  await owner.page.getByRole('heading', { level: 1, name: `Team ${id}` }).waitFor()
  await owner.hand.press('button', 'Make a key')
  await owner.hand.type('Name', 'a colleague')
  await owner.hand.press('button', 'Make a key')
  const key = (await owner.page.getByRole('dialog').locator('pre').first().textContent()) ?? ''
  await expectSound(owner, `a key, ${id}`)
  await owner.hand.press('button', 'I have it')
  await owner.page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await owner.page.content()).not.toContain(key)
  await owner.close()

  const colleague = await begin(key)
  const { page } = colleague
  await page.getByRole('heading', { name: 'No links yet' }).waitFor()
  await colleague.go('Import')
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), colleague.hand.press('button', 'Choose a file')]) // prettier-ignore
  await chooser.setFiles({ name: 'links.csv', mimeType: 'text/csv', buffer: Buffer.from(`code,url\n${id}-brought,https://example.org/brought\n`) }) // prettier-ignore
  await colleague.hand.press('button', 'Try it first')
  await page.getByText('Done', { exact: true }).waitFor()
  await colleague.hand.press('button', 'Import it for real')
  await waitFor(async () => (await at.server.api('GET', `/links/${id}-brought`)).status === 200)
  for (let n = 0; n < 3; n++) await fetch(`${at.server.url}/${id}-brought`, { redirect: 'manual' })
  await waitFor(async () => (await at.server.api('GET', `/stats?tenant=${id}`)).body['total'] === 3)
  await colleague.go('Statistics')
  await page
    .locator('.figures > div')
    .filter({ has: page.getByText('Visits', { exact: true }) })
    .getByText('3', { exact: true })
    .waitFor()
  await expectSound(colleague, `who came, ${id}`)
  await colleague.close()
})

/** Texts that are not whole on the screen, in either direction, where nothing scrolls to them. */
const cut = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const found: string[] = []
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.textContent?.trim() ?? ''
      const of = node.parentElement
      if (text === '' || !of?.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      const { left, right, width } = range.getBoundingClientRect()
      // A table scrolls by itself, what is for screen readers only is a pixel wide, and what has an ellipsis is whole on the page that it leads to.
      const isElsewhere =
        getComputedStyle(of).textOverflow === 'ellipsis' ||
        of.closest('.scroll, pre, .visually-hidden, .skip, svg, option') !== null
      if (width > 0 && !isElsewhere && (left < -1 || right > innerWidth + 1)) found.push(`${text.slice(0, 60)} (${left.toFixed()} to ${right.toFixed()})`) // prettier-ignore
    }
    return found
  })

/** Of what has the focus, whether it can be seen: inside of the window, and under nothing that is fixed there. */
const isSeen = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    const is = document.activeElement
    if (is === null || is === document.body) return true
    const { left, right, top, bottom } = is.getBoundingClientRect()
    const places = [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) => [left + x * (right - left), top + y * (bottom - top)] as const)) // prettier-ignore
    return places.some(([x, y]) => {
      const seen = document.elementFromPoint(x, y)
      return seen !== null && (is.contains(seen) || seen.contains(is) || seen.closest('label') !== null)
    })
  })

test('at 400 % nothing is cut, is scrolled to in two directions, or has the focus behind something else', async () => {
  const rules = [{ url: 'https://example.org/de', when: { language: 'de' } }]
  await at.server.api('POST', '/links', { url: `https://example.org/${'long/'.repeat(40)}`, code: 'zoomed', title: 'A title of some length, as people write them', tags: ['campaign', 'autumn'], rules }) // prettier-ignore
  // 1280 × 800, each pixel of the page four of the screen.
  const one = await signedIn(at, '/console', { viewport: { width: 320, height: 200 }, deviceScaleFactor: 4 })
  const { page } = one
  for (const path of [
    '',
    '/new',
    '/links/zoomed',
    '/stats',
    '/imports',
    '/members',
    '/keys',
    '/tenants',
    '/tenants/owner',
    '/domains',
    '/audit',
    '/system',
    '/account',
  ]) {
    await page.goto(`${at.url}/console${path}`)
    await page.locator('h1').waitFor()
    await page.waitForLoadState('networkidle')
    await expectSound(one, `${path} at 400 %`)
    expect({ path, cut: await cut(page) }).toEqual({ path, cut: [] })
    const hidden: string[] = []
    for (let n = 0; n < 25; n++) {
      await page.keyboard.press('Tab')
      if (!(await isSeen(page))) hidden.push(await focused(page))
    }
    expect({ path, hidden }).toEqual({ path, hidden: [] })
  }
  // A dialog is as high as the window, and its end can be reached.
  await page.goto(`${at.url}/console/keys`)
  await page.getByRole('button', { name: 'Make a key' }).click()
  const make = page.getByRole('dialog').getByRole('button', { name: 'Make a key' })
  await make.scrollIntoViewIfNeeded()
  expect(await make.evaluate((is) => is.getBoundingClientRect().bottom <= innerHeight)).toBe(true)
  await expectSound(one, 'a dialog at 400 %')
  await one.close()
})
