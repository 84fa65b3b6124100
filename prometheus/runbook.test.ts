import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { rulesIn } from './promql.ts'
import { asPage, runbookFile, runbookPage } from './runbook.ts'

const page = readFileSync(runbookFile, 'utf8')
const ids = new Set(Array.from(page.matchAll(/ id="([^"]+)"/g), ([, id]) => id))

test('the page is what RUNBOOK.md makes: npm run dashboards', () => {
  expect(page).toBe(runbookPage())
})

test('the link of each alert finds its heading, and so does its name, which is all that a dashboard knows', () => {
  const alerts = rulesIn('alerts.yml').flatMap(({ alert, annotations }) => (alert ? [{ alert, annotations }] : []))
  expect(alerts.length).toBeGreaterThan(20)
  for (const { alert, annotations } of alerts) {
    expect(ids).toContain(annotations?.['runbook_url']?.split('#')[1])
    expect(ids).toContain(alert)
  }
})

test('no link of the page is dead: those to other documents, which are not served beside it, are text', () => {
  const links = Array.from(page.matchAll(/ href="([^"]+)"/g), ([, href = '']) => href)
  expect(links.length).toBeGreaterThan(20)
  for (const link of links)
    expect(link.startsWith('#') ? ids.has(link.slice(1)) : link.startsWith('http'), link).toBe(true)
  expect(asPage('# A\n\nSee [the API](docs/API.md) and [B](#b).\n\n## B\n')).toContain(
    '<p>See the API and <a href="#b">B</a>.</p>',
  )
})
