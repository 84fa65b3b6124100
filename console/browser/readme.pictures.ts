// `npm run -s pictures`: what README shows, from the real thing. With LOOK=<folder> every page besides, in all sizes and colours, for a look at them.
import { test } from 'vitest'
import { created } from '../../testing/http.ts'
import { waitFor } from '../../embedded/wait.ts'
import { quickLink, signedIn, sizes, visit, type At } from './browser.ts'

const links = [
  { code: 'board', url: 'https://example.org/board/minutes', password: 'correct horse', title: 'Minutes of the board' },
  { code: 'uptime', url: 'https://status.example.org/', title: 'Status page' },
  { code: 'jobs', url: 'https://www.example.com/jobs', enabled: false, title: 'Open positions' },
  { code: 'fair', url: 'https://shop.example.org/products/poster', tags: ['print'], title: 'Poster of the autumn fair' },
  { code: 'summer', url: 'https://example.org/summer', startsAt: '2090-06-01T00:00:00Z', title: 'From June on' },
  { code: 'handbook', url: 'https://docs.example.org/handbook/first-week', tags: ['team'], title: 'The first week' },
  {
    code: 'app',
    url: 'https://example.org/app',
    title: 'Get the app',
    tags: ['print', 'campaign'],
    rules: [
      { url: 'https://apps.example.com/ios', when: { os: 'ios' } },
      { url: 'https://apps.example.com/android', when: { os: 'android', language: 'de' } },
    ],
  },
  { code: 'spring', url: 'https://example.org/spring/landing?utm_source=newsletter', tags: ['campaign', 'mail'], title: 'Spring campaign', note: 'Until the end of May.' },
] // prettier-ignore

const clicks = { spring: 137, app: 64, handbook: 12, fair: 31, uptime: 5 }

async function fill({ server }: At): Promise<void> {
  for (const link of links) await created(server.api, '/links', link)
  for (const [code, n] of Object.entries(clicks)) {
    for (let i = 0; i < n; i++) await fetch(`${server.url}/${code}`, { redirect: 'manual' })
  }
  await created(server.api, '/tenants', { id: 'acme', name: 'Acme', tier: 'standard' })
  await created(server.api, '/tenants/acme/keys', { name: 'their website' })
  await created(server.api, '/domains', { host: 'go.example.com', tenants: ['acme'] })
  await waitFor(async () => (await server.api('GET', '/links/spring')).body['clicks'] === clicks.spring)
}

const pages = { links: '', stats: '/stats', imports: '/imports', link: '/links/spring', rules: '/links/app', new: '/new', keys: '/keys', tenants: '/tenants', tenant: '/tenants/acme', domains: '/domains', audit: '/audit', system: '/system', account: '/account' } // prettier-ignore

test('pictures', async () => {
  const at = await quickLink()
  const look = process.env['LOOK']
  for (const isFull of [false, true]) {
    if (isFull) await fill(at)
    for (const colorScheme of ['light', 'dark'] as const) {
      if (isFull) {
        const one = await signedIn(at, '/console', { colorScheme, viewport: { width: 1120, height: 700 } })
        await one.page.getByRole('link', { name: /^localhost.*board$/ }).waitFor()
        await one.page.screenshot({ path: `docs/pictures/console-${colorScheme}.png` })
        await one.close()
      }
      if (look === undefined) continue
      for (const [size, viewport] of Object.entries(sizes)) {
        const name = (page: string): string => `${look}/${page}-${isFull ? 'full' : 'empty'}-${colorScheme}-${size}.png`
        const first = await visit(at, '/console', { colorScheme, viewport })
        await first.page.screenshot({ path: name('sign-in') })
        await first.close()
        const one = await signedIn(at, '/console', { colorScheme, viewport })
        for (const [page, path] of Object.entries(pages)) {
          await one.page.goto(`${at.url}/console${path}`)
          await one.page.waitForLoadState('networkidle')
          await one.page.screenshot({ path: name(page), fullPage: true })
        }
        await one.close()
      }
    }
  }
}, 600_000)
