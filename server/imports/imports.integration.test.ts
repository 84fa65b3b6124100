// An import from its file to its links, on a real Postgres.
import { describe, expect, it } from 'vitest'
import { newTenant, type Api, type ApiAnswer } from '../../testing/http.ts'
import { startTestApp } from '../../testing/app.ts'
import { freshDatabase, handInPsql, waitFor } from '../../testing/services.ts'

let names = 0
const fresh = (word: string): string => `${word}${++names}`

const databaseUrl = await freshDatabase()
const app = await startTestApp({
  databaseUrl,
  env: { PUBLIC_URL: 'https://ql.test' },
})
const sql = handInPsql(databaseUrl)

type Import = Record<string, unknown> & { readonly id: string; readonly state: string }

const csv = { 'Content-Type': 'text/csv' }
const send = (api: Api, file: string | Buffer, query = ''): Promise<ApiAnswer> =>
  api('POST', `/imports${query}`, file, csv)

async function ended(api: Api, answer: ApiAnswer): Promise<Import> {
  expect([answer.status, answer.text]).toEqual([202, expect.any(String)])
  let last = answer.body as Import
  await waitFor(async () => {
    last = (await api('GET', `/imports/${last.id}`)).body as Import
    return last.state === 'done' || last.state === 'failed'
  }, { deadlineMs: 30_000 }) // prettier-ignore
  return last
}

const imported = async (file: string | Buffer, query = '', api = app.api): Promise<Import> =>
  ended(api, await send(api, file, query))
const link = async (code: string, api = app.api): Promise<Record<string, unknown>> =>
  (await api('GET', `/links/${code}`)).body
const refused = async ({ id }: Import, api = app.api): Promise<string[]> =>
  (await api('GET', `/imports/${id}/refused`)).text.trimEnd().split('\r\n').slice(1)

describe('a file becomes links', () => {
  it('with codes, dates, titles, notes, tags and clicks; a row without a code gets one of ours', async () => {
    const done = await imported(
      'code,url,title,note,tags,createdAt,clicks,enabled,monthlyHits\n' +
        'aa,https://example.org/a,Spring,"two\nlines",sale|print,2020-01-02T03:04:05.000Z,42,false,7\n' +
        ',https://example.org/minted,,,,,,,\n',
    )
    expect(done).toMatchObject({ state: 'done', format: 'quicklink', rows: 2, created: 2, refused: 0, failure: null })
    expect(await link('aa')).toMatchObject({
      code: 'aa', url: 'https://example.org/a', title: 'Spring', note: 'two\nlines', tags: ['print', 'sale'],
      createdAt: '2020-01-02T03:04:05.000Z', clicks: 42, enabled: false, monthlyHits: 7,
    }) // prettier-ignore
    const { body } = await app.api('GET', '/links?url=https://example.org/minted&tenant=owner')
    expect((body['items'] as { code: string }[]).map(({ code }) => code)).toEqual([expect.stringMatching(/^[0-9A-Za-z]{7}$/)]) // prettier-ignore
  })

  it('that redirect at once', async () => {
    const code = fresh('go')
    await imported(`code,url\n${code},https://example.org/go\n`)
    const { status, headers } = await app.get(`/${code}`)
    expect([status, headers.location]).toEqual([302, 'https://example.org/go'])
  })

  it('whose clicks of before are in every order and every total, and in no hit and no statistic', async () => {
    const code = fresh('base')
    await imported(`code,url,clicks,monthlyHits\n${code},https://example.org/base,1000,2\n`)
    const { body } = await app.api('GET', '/links?sort=clicks&limit=1')
    expect((body['items'] as object[])[0]).toMatchObject({ code, clicks: 1000 })
    expect((await app.api('GET', `/links/${code}/hits`)).body).toMatchObject({ used: 0, remaining: 2 })
    expect((await app.api('GET', `/links/${code}/clicks`)).body).toMatchObject({ total: 0 })
    expect(await sql.query(`select 1 from clicks join links on id = link_id where code = $1`, [code])).toEqual([])
    await app.get(`/${code}`)
    await waitFor(async () => (await link(code))['clicks'] === 1001)
  })
})

describe('a code that is there', () => {
  it.each([
    ['skip', { skipped: 1, created: 1 }, 'https://example.org/first'],
    ['replace', { replaced: 1, created: 1 }, 'https://example.org/second'],
  ] as const)('with onConflict=%s', async (onConflict, counts, url) => {
    const [code, other] = [fresh('there'), fresh('other')]
    await app.create('https://example.org/first', { code, title: 'First', tags: ['one'] })
    const before = await link(code)
    const file = `code,url,title,tags,clicks\n${code},https://example.org/second,Second,two,9\n${other},https://example.org/,,,\n`
    expect(await imported(file, `?onConflict=${onConflict}`)).toMatchObject({ state: 'done', rows: 2, ...counts })
    const after = await link(code)
    expect(after).toMatchObject({ url, clicks: 0, createdAt: before['createdAt'] })
    expect(after['title']).toBe(onConflict === 'skip' ? 'First' : 'Second')
    expect(after['tags']).toEqual(onConflict === 'skip' ? ['one'] : ['two'])
    const [row] = await sql.query<{ n: number }>('select count(*) as n from links where code = $1', [code])
    expect(row?.n).toBe(1)
  })

  it('with onConflict=fail ends the import there', async () => {
    const [code, other] = [fresh('there'), fresh('other')]
    await app.create('https://example.org/first', { code })
    const file = `code,url\n${other},https://example.org/\n${code},https://example.org/second\n`
    const done = await imported(file, '?onConflict=fail')
    expect(done).toMatchObject({ state: 'failed', created: 0 })
    expect(done['failure']).toMatch(new RegExp(`^Row 3: the code ${code} is taken`))
    expect((await app.api('GET', `/links/${other}`)).status).toBe(404)
  })

  it('of an earlier row of the file is met by the same rule', async () => {
    const rows = (code: string): string => [1, 2, 3].map((n) => `${code},https://example.org/${n}\n`).join('')
    const [one, two] = [fresh('twice'), fresh('twice')]
    expect(await imported(`code,url\n${rows(one)}`)).toMatchObject({ created: 1, skipped: 2 })
    expect((await link(one))['url']).toBe('https://example.org/1')
    expect(await imported(`code,url\n${rows(two)}`, '?onConflict=replace')).toMatchObject({ created: 1, replaced: 2 })
    expect((await link(two))['url']).toBe('https://example.org/3')
  })

  it('of another tenant is refused as taken, and nothing of it changes', async () => {
    const other = await newTenant(app, fresh('tenant'))
    const code = fresh('theirs')
    await app.create('https://example.org/ours', { code })
    const done = await imported(`code,url\n${code},https://example.org/stolen\n`, '?onConflict=replace', other.api)
    expect(done).toMatchObject({ state: 'done', refused: 1, created: 0 })
    expect(await refused(done, other.api)).toEqual([`2,The code ${code} is taken: choose another one.,${code},https://example.org/stolen,`]) // prettier-ignore
    expect((await link(code))['url']).toBe('https://example.org/ours')
  })

  it('that its tenant has deleted is made anew, with nothing of what it was', async () => {
    const code = fresh('again')
    await app.create('https://example.org/old', { code, title: 'Old' })
    await app.api('DELETE', `/links/${code}`)
    expect(await imported(`code,url\n${code},https://example.org/new\n`)).toMatchObject({ created: 1 })
    expect(await link(code)).toMatchObject({ url: 'https://example.org/new', title: null, clicks: 0 })
  })
})

describe('a dry run', () => {
  it('counts what would be, also of the file itself, and makes nothing', async () => {
    const [there, once, twice] = [fresh('dry'), fresh('dry'), fresh('dry')]
    await app.create('https://example.org/', { code: there })
    const file = `code,url\n${[there, once, twice, twice].map((code) => `${code},https://example.org/x\n`).join('')}bad code,https://example.org/\n`
    expect(await imported(file, '?dryRun=true')).toMatchObject({
      state: 'done', dryRun: true, rows: 5, created: 2, skipped: 2, refused: 1,
    }) // prettier-ignore
    expect((await app.api('GET', `/links/${once}`)).status).toBe(404)
  })
})

describe('a row is refused with its reason', () => {
  it.each([
    [
      'a~b,https://example.org/',
      'The code a~b cannot be kept: codes have 1 to 64 of the characters 0-9, A-Z, a-z, _ and -.',
    ],
    ['api,https://example.org/', 'The code api is a reserved word: give it another one.'],
    ['no-url,', 'url is missing.'],
    ['ftp,ftp://example.org/', 'url must begin with http:// or https://.'],
    ['own,https://ql.test/x', "url must not lead to QuickLink's own host, whatever the port."],
    ['local,http://127.0.0.1:8080/x', "url must not lead to QuickLink's own host, whatever the port."],
    ['short', 'The row has 1 cells, and the header 2.'],
  ])('%s', async (row, reason) => {
    const done = await imported(`code,url\nfine${++names},https://example.org/\n${row}\n`)
    expect(done).toMatchObject({ created: 1, refused: 1 })
    const [line] = await refused(done)
    expect(line).toContain(reason.replaceAll('"', '""'))
    expect(line).toMatch(/^3,/)
  })

  it('and the list of them, mended, is a file to import', async () => {
    const code = fresh('mended')
    const done = await imported(`code,url,title\nnot a code,https://example.org/mended,=1+1\n`)
    const { text } = await app.api('GET', `/imports/${done.id}/refused`)
    expect(text).toMatch(/^line,reason,code,url,title,newCode\r\n/)
    expect(await imported(text.replace(/,\r\n$/, `,${code}\r\n`))).toMatchObject({ created: 1 })
    expect(await link(code)).toMatchObject({ url: 'https://example.org/mended', title: '=1+1' })
  })
})
