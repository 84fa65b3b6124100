// `npm run -s bench:first-page`: how long the list takes until somebody can use it, where there are a million links (LINKS=100000 for less): from the press of Enter in a
// browser that has been there before, and in one that has not, to rows that can be read and a field that takes what is typed.
import { test } from 'vitest'
import { buildIndexes } from '../../server/connections/indexes.ts'
import { withDatabaseLock } from '../../server/connections/migrate.ts'
import { chooseIndexes } from '../../server/links/upkeep.ts'
import { freshDatabase, handInPsql } from '../../testing/services.ts'
import { quickLink, signedIn } from './browser.ts'

const total = Number(process.env['LINKS'] ?? 1_000_000)
const rounds = 15
const chunk = 50_000

test('the first page of many links', async () => {
  const url = await freshDatabase()
  await withDatabaseLock({ url, connectMs: 5000, onInfo: () => undefined }, () => Promise.resolve())
  const hand = handInPsql(url, { queryMs: 600_000 })
  for (let first = 1; first <= total; first += chunk) {
    await hand.query(
      `insert into links (code, url, created_at) select 'page-' || n, 'https://example.org/' || md5(n::text), now() - ($2::int - n) * interval '1 second'
       from generate_series($1::int, $1::int + ${chunk - 1}) as n where n <= $2::int`,
      [first, total],
    )
  }
  await buildIndexes({ url, connectMs: 5000, buildMs: 600_000 }, chooseIndexes)
  await hand.query('vacuum analyze')
  const at = await quickLink({ DATABASE_URL: url })
  const one = await signedIn(at, '/console')
  const { page } = one
  const state = await page.context().storageState()
  const usableMs = async (fresh: boolean): Promise<number> => {
    const context = fresh ? await page.context().browser()!.newContext({ storageState: state }) : undefined
    const where = (await context?.newPage()) ?? page
    const beganMs = performance.now()
    await where.goto(`${at.url}/console`, { waitUntil: 'commit' })
    await where.getByRole('link', { name: new RegExp(`page-${total}$`) }).first().waitFor() // prettier-ignore
    await where.getByLabel('Address to shorten').fill('example.org')
    const ms = performance.now() - beganMs
    await context?.close()
    return ms
  }
  for (const [what, fresh] of [
    ['a browser that has been there', false],
    ['a browser that has not', true],
  ] as const) {
    const ms: number[] = []
    for (let n = 0; n < rounds; n++) ms.push(await usableMs(fresh))
    ms.sort((a, b) => a - b)
    console.log(`${total.toLocaleString('en')} links, ${what}: median ${ms[rounds >> 1]!.toFixed(0)} ms, longest of ${rounds} ${ms.at(-1)!.toFixed(0)} ms`) // prettier-ignore
  }
  await one.close()
}, 1_800_000)
