// A browser at a QuickLink of its own. Whatever a page does that it must not do is remembered, and every test ends by asking.
import { existsSync } from 'node:fs'
import AxeBuilderSource from 'axe-core'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'
import { startServer, type ServerProcess } from '../../testing/server-process.ts'
import { freshDatabase, freshRedis } from '../../testing/services.ts'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)

let browser: Promise<Browser> | undefined
afterAll(async () => {
  await (await browser)?.close()
  browser = undefined
})

export interface At {
  readonly server: ServerProcess
  /** As the browser has it: PUBLIC_URL. */
  readonly url: string
  readonly databaseUrl: string
}

export async function quickLink(env: Record<string, string> = {}): Promise<At> {
  const databaseUrl = env['DATABASE_URL'] ?? (await freshDatabase())
  const server = await startServer({ REDIS_URL: await freshRedis(), ...env, DATABASE_URL: databaseUrl })
  return { server, databaseUrl, url: server.url.replace('127.0.0.1', 'localhost') }
}

export const sizes = { phone: { width: 320, height: 640 }, desk: { width: 1280, height: 800 } } as const

export interface Visit {
  readonly page: Page
  /** What no page may ever do; empty. */
  readonly offences: () => string[]
  /** Rules of WCAG 2.2 AA that what is on the screen breaks. */
  readonly findings: () => Promise<string[]>
  readonly close: () => Promise<void>
}

interface Manner extends BrowserContextOptions {
  /** A refusal of the server is no fault of the page there. */
  readonly expectsRefusals?: boolean
}

export async function visit(
  { url }: At,
  path: string,
  { expectsRefusals = false, ...options }: Manner = {},
): Promise<Visit> {
  if (executablePath === undefined) throw new Error('There is no Chromium: apt-get install chromium')
  browser ??= chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  const context = await (
    await browser
  ).newContext({
    viewport: sizes.desk,
    locale: 'en-US',
    timezoneId: 'Europe/Berlin',
    permissions: ['clipboard-read', 'clipboard-write'],
    reducedMotion: 'reduce',
    ...options,
  })
  const offences: string[] = []
  const page = await context.newPage()
  page.on('console', (message) => {
    const text = message.text()
    if (message.type() === 'error' && !(expectsRefusals && text.startsWith('Failed to load resource')))
      offences.push(`console: ${text}`)
  })
  page.on('pageerror', (error) => offences.push(`error: ${error.message}`))
  page.on('request', (request) => {
    const asked = new URL(request.url())
    if (asked.protocol.startsWith('http') && asked.origin !== url) offences.push(`another host: ${request.url()}`)
  })
  await page.goto(url + path)
  return {
    page,
    offences: () => offences,
    findings: () => findings(page),
    close: () => context.close(),
  }
}

/** By the source of axe, run as the debugger would: the page's own policy lets no script in. */
async function findings(page: Page): Promise<string[]> {
  await page.evaluate(AxeBuilderSource.source)
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof AxeBuilderSource }
    const { violations } = await axe.run(document, {
      runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] },
    })
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary?.split('\n')[1] ?? ''}`).join(' | ')}`,
    )
  })
}

export async function signIn({ page }: Visit, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { level: 1, name: 'Links' }).waitFor()
}

/** Signed in, on a page. */
export async function signedIn(at: At, path: string, options: Manner = {}, key = at.server.key): Promise<Visit> {
  const one = await visit(at, '/console', options)
  await signIn(one, key)
  if (path !== '/console') await one.page.goto(at.url + path)
  return one
}

/** Nothing that is too wide: who reads on a phone scrolls in one direction. */
export const isTooWide = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)

export async function expectSound(one: Visit, what: string): Promise<void> {
  expect({ what, findings: await one.findings(), offences: one.offences(), isTooWide: await isTooWide(one.page) }).toEqual({ what, findings: [], offences: [], isTooWide: false }) // prettier-ignore
}
