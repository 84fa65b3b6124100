// Files as each of the five, and we, write them: what is read of them.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { search, searches } from '../../../testing/search.ts'
import { limits } from '../../limits.ts'
import type { FormatName } from './all.ts'
import { readFile } from './read.ts'

async function* inPieces(text: string, size = text.length + 1): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) {
    await Promise.resolve()
    yield text.slice(at, at + size)
  }
}

async function read(text: string, asked: FormatName | 'auto' = 'auto', size?: number) {
  const { format, columns, rows } = await readFile(inPieces(text, size), asked)
  const all = []
  for await (const row of rows) all.push(row)
  return { format, columns, rows: all, drafts: all.flatMap(({ drafts }) => drafts) }
}

const said = (fields: object): object => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) // prettier-ignore

const shlinkThing = {
  shortCode: 'abc', shortUrl: 'https://s.test/abc', longUrl: 'https://example.org/x?a=1', dateCreated: '2016-08-21T20:34:16+02:00', tags: ['games', 'tech'],
  meta: { validSince: '2017-01-21T00:00:00+02:00', validUntil: null, maxVisits: 100 }, domain: null, title: 'The title', crawlable: false, forwardQuery: false,
  hasRedirectRules: true, visitsSummary: { total: 328, nonBots: 285, bots: 43 },
} // prettier-ignore
const kuttThing = {
  address: 'sale', target: 'https://example.org/sale', description: 'for print', created_at: '2020-05-04T12:00:00.000Z', expire_in: null, visit_count: 12,
  domain: 'k.test', password: true, banned: false, id: 'uuid', link: 'https://k.test/sale', updated_at: '2020-05-04T12:00:00.000Z',
} // prettier-ignore
const dump = `-- MariaDB dump 10.19
/*!40101 SET NAMES utf8mb4 */;
DROP TABLE IF EXISTS \`yourls_url\`;
CREATE TABLE \`yourls_url\` (\`keyword\` varchar(100) NOT NULL DEFAULT '', \`url\` text NOT NULL, KEY \`ip\` (\`ip\`)) ENGINE=InnoDB;
INSERT INTO \`yourls_options\` VALUES (1,'version','1.9; it''s (new)');
/*!40000 ALTER TABLE \`yourls_url\` DISABLE KEYS */;
INSERT INTO \`yourls_url\` VALUES ('one','https://example.org/?q=\\'a\\'&b=(1,2);','It''s a \\"title\\"','2019-03-04 05:06:07','192.0.2.1',17),('2','https://example.org/two',NULL,'2019-03-05 05:06:07','192.0.2.2',0);
INSERT INTO \`yourls\`.\`yourls_url\` (\`url\`, \`keyword\`) VALUES (_binary 'https://example.org/three','three');
INSERT INTO \`yourls_log\` VALUES (1,'2019-03-04 05:06:07','one','direct');
-- Dump completed`

const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`

describe('files that each of them writes', () => {
  it('Shlink: the CSV of its web client', async () => {
    const { format, drafts } = await read(
      'createdAt,domain,shortCode,shortUrl,longUrl,title,tags,visits\n' +
        '2021-02-03T04:05:06+01:00,s.test,abc,https://s.test/abc,"https://example.org/a,b",A title,one|two,7\n',
    )
    expect([format, drafts[0]]).toEqual(['shlink', expect.objectContaining({ code: 'abc' })])
    expect(said(drafts[0]!.fields)).toEqual({
      url: 'https://example.org/a,b', title: 'A title', tags: ['one', 'two'], createdAt: '2021-02-03T04:05:06+01:00', forwardQuery: true, clicks: 7,
    }) // prettier-ignore
  })

  it('Shlink: what its API answers, a page or many, also printed nicely; limits of a life and rules are told of', async () => {
    const page = { shortUrls: { data: [shlinkThing, { ...shlinkThing, shortCode: 'two', meta: {}, hasRedirectRules: false }], pagination: { currentPage: 1 } } } // prettier-ignore
    for (const text of [
      JSON.stringify(page),
      JSON.stringify(page, null, 2),
      `${JSON.stringify(page)}\n${JSON.stringify(page)}`,
    ]) {
      const { format, drafts } = await read(text)
      expect([format, drafts.length % 2]).toEqual(['shlink', 0])
      expect(said(drafts[0]!.fields)).toEqual({
        url: 'https://example.org/x?a=1', title: 'The title', tags: ['games', 'tech'], createdAt: '2016-08-21T20:34:16+02:00',
        startsAt: '2017-01-21T00:00:00+02:00', forwardQuery: false, clicks: 328,
      }) // prettier-ignore
      expect(drafts[0]!.warnings).toEqual([expect.stringMatching(/at most 100 visits in its life/), expect.stringMatching(/redirect rules/)]) // prettier-ignore
      expect(drafts[1]!.warnings).toEqual([])
    }
  })

  it('Shlink: where a link led elsewhere by device, it has rules', async () => {
    const deviceLongUrls = { android: 'https://example.org/a', ios: null, desktop: 'https://example.org/d' }
    const { drafts } = await read(JSON.stringify({ shortUrls: { data: [{ ...shlinkThing, deviceLongUrls }] } }))
    expect(drafts[0]!.fields['rules']).toEqual([
      { when: { os: 'android' }, url: 'https://example.org/a' },
      { when: { device: 'desktop' }, url: 'https://example.org/d' },
    ])
  })

  it('YOURLS: its table as CSV, the CSV of its plugin', async () => {
    const table = await read(
      'keyword,url,title,timestamp,ip,clicks\none,https://example.org/,Title,2019-03-04 05:06:07,192.0.2.1,17\n',
    )
    expect([table.format, table.drafts[0]!.code]).toEqual(['yourls', 'one'])
    expect(said(table.drafts[0]!.fields)).toEqual({ url: 'https://example.org/', title: 'Title', createdAt: '2019-03-04T05:06:07Z', clicks: 17 }) // prettier-ignore
    const plugin = await read('source,target,hits\n/one/,https://example.org/,3\n')
    expect([plugin.format, plugin.drafts[0]!.code, said(plugin.drafts[0]!.fields)]).toEqual(['yourls', 'one', { url: 'https://example.org/', clicks: 3 }]) // prettier-ignore
  })

  it.each([1, 7, 64, undefined])('YOURLS: a mysqldump, in pieces of %s', async (size) => {
    const { format, columns, drafts, rows } = await read(dump, 'auto', size)
    expect([format, columns]).toEqual(['yourls', ['keyword', 'url', 'title', 'timestamp', 'clicks']])
    expect(drafts.map(({ code, fields }) => [code, said(fields)])).toEqual([
      ['one', { url: "https://example.org/?q='a'&b=(1,2);", title: 'It\'s a "title"', createdAt: '2019-03-04T05:06:07Z', clicks: 17 }],
      ['2', { url: 'https://example.org/two', createdAt: '2019-03-05T05:06:07Z', clicks: 0 }],
      ['three', { url: 'https://example.org/three' }],
    ]) // prettier-ignore
    expect(rows.map(({ source }) => source.join(' ')).join(' ')).not.toContain('192.0.2')
  })

  it('Kutt: what its API answers; a password is there and not told', async () => {
    const { format, drafts } = await read(JSON.stringify({ limit: 10, skip: 0, total: 1, data: [kuttThing] }))
    expect([format, drafts[0]!.code, drafts[0]!.hasPassword]).toEqual(['kutt', 'sale', true])
    expect(said(drafts[0]!.fields)).toEqual({ url: 'https://example.org/sale', note: 'for print', createdAt: '2020-05-04T12:00:00.000Z', clicks: 12 }) // prettier-ignore
    // As version 3 says it, and where its database is SQLite.
    const third = { ...kuttThing, visit_count: '1,234,567', banned: 1, expire_in: null }
    const later = await read(JSON.stringify({ limit: 10, skip: 0, total: 1, data: [third] }))
    expect([later.drafts[0]!.fields['clicks'], later.drafts[0]!.fields['enabled']]).toEqual([1_234_567, false])
    expect(later.drafts[0]!.warnings).toHaveLength(1)
  })

  it('Dub: the CSV of its dashboard', async () => {
    const { format, drafts } = await read(
      'Short link,Destination URL,Clicks,Created at,Leads,Link ID,Tags,Archived\n' +
        'https://d.test/a%20b,https://example.org/,5,2024-01-02T03:04:05.000Z,0,link_1,"one,two",true\n',
    )
    expect([format, drafts[0]!.code]).toEqual(['dub', 'a b'])
    expect(said(drafts[0]!.fields)).toEqual({ url: 'https://example.org/', tags: ['one', 'two'], createdAt: '2024-01-02T03:04:05.000Z', clicks: 5, enabled: false }) // prettier-ignore
    expect(drafts[0]!.warnings).toHaveLength(1)
  })

  it('Dub: the same as it was written at first, where the code is in the link alone', async () => {
    const { format, drafts } = await read(
      'link,url,clicks,createdAt,tags,archived\nhttps://d.test/spring,https://example.org/,5,2024-01-02T03:04:05.000Z,"one, two",false\n',
    )
    expect([format, drafts[0]!.code]).toEqual(['dub', 'spring'])
    expect(said(drafts[0]!.fields)).toEqual({ url: 'https://example.org/', tags: ['one', ' two'], createdAt: '2024-01-02T03:04:05.000Z', clicks: 5 }) // prettier-ignore
  })

  it('Bitly: a link by its own path and by one that somebody has chosen; clicks once', async () => {
    const csv = await read(
      'Link,Custom Link,Destination URL,Title,Clicks\nbit.ly/3abc,https://b.test/sale,https://example.org/,Sale,9\n',
    )
    expect([csv.format, csv.drafts.map(({ code, fields }) => [code, fields['clicks']])]).toEqual(['bitly', [['sale', 9], ['3abc', undefined]]]) // prettier-ignore
    const old = await read(
      'long_url,link,created_at\nhttps://example.org/,https://bit.ly/3abc,2015-01-02T03:04:05+0000\n',
    )
    expect([old.format, old.drafts[0]!.code, old.drafts[0]!.fields['createdAt']]).toEqual(['bitly', '3abc', '2015-01-02T03:04:05+00:00']) // prettier-ignore
    const api = await read(JSON.stringify({ links: [{ id: 'bit.ly/3abc', link: 'https://bit.ly/3abc', custom_bitlinks: ['https://b.test/sale'], long_url: 'https://example.org/', tags: [], archived: false }] })) // prettier-ignore
    expect([api.format, api.drafts.map(({ code }) => code)]).toEqual(['bitly', ['sale', '3abc']])
  })

  it('ours: exactly one quote is taken off each cell, and a line of NDJSON is a link', async () => {
    const { format, drafts } = await read(
      "code,domain,shortUrl,url,title,note\r\n'-a,,,https://example.org/,'=1+1,''quoted''\r\n",
    )
    expect([format, drafts[0]!.code]).toEqual(['quicklink', '-a'])
    expect(drafts[0]!.fields).toMatchObject({ title: '=1+1', note: "'quoted''" })
    const lines = await read(
      '{"code":"a","url":"https://example.org/","tags":["x"]}\n\n{"code":"b","url":"https://example.org/"}\n[]\nno\n',
    )
    expect([lines.format, lines.rows.map(({ line, wrong }) => [line, wrong !== undefined])]).toEqual(['quicklink', [[1, false], [3, false], [4, true], [5, true]]]) // prettier-ignore
  })
})

describe('files as programs leave them', () => {
  it.each([
    ['CRLF', 'code,url\r\na,https://example.org/\r\n'],
    ['semicolons', 'code;url\na;https://example.org/\n'],
    ['tabs', 'code\turl\na\thttps://example.org/\n'],
    ['a mark at the beginning', '\ufeffcode,url\na,https://example.org/\n'],
    ['no end of the last line', 'code,url\na,https://example.org/'],
    ['quotes', '"code","url"\n"a","https://example.org/"\n'],
    ['other columns, in another order and case', 'x,URL,y,Code\n1,https://example.org/,2,a\n'],
    ['empty lines', 'code,url\n\na,https://example.org/\n\n'],
  ])('%s', async (_, text) => {
    for (const size of [1, 3, undefined]) {
      const { drafts } = await read(text, 'auto', size)
      expect(drafts.map(({ code, fields }) => [code, fields['url']])).toEqual([['a', 'https://example.org/']])
    }
  })

  it('a row tells its line, also after one that has several', async () => {
    const { rows } = await read('code,url,note\na,https://example.org/,"one\ntwo\nthree"\nb,https://example.org/,\n')
    expect(rows.map(({ line }) => line)).toEqual([2, 5])
  })

  it.each([
    ['nothing', '', /body is empty/],
    ['white', '  \n \n', /body is empty/],
    ['a table of something else', 'name,age\nx,1\n', /none of the files that are known/],
    ['JSON of something else', '{"a":[1,2,3]}', /none of the files that are known/],
    ['a text', 'Hello,\nworld.\n', /none of the files that are known/],
    ['a field that never ends', `code,url\na,"${'x'.repeat(limits.importRecord + 10)}`, /more than \d+ characters/],
    ['a quote that is not closed', 'code,url\na,"https://example.org/\n', /a quote that was opened is not closed/],
    ['100,000 columns', `url${',x'.repeat(50_000)}\n`, /at most 200 columns/],
    ['100,000 long columns', `url${',xxxxx'.repeat(100_000)}\n`, /more than \d+ characters|at most 200 columns/],
    ['a line of JSON that never ends', `{"code":"a","url":"https://example.org/"}\n{"a":"${'x'.repeat(limits.importRecord * 4)}`, /more than \d+ characters/],
    ['a line of lists in lists', `{"code":"a","url":"https://example.org/"}\n{"code":${deep},"url":"https://example.org/"}`, /nested more than \d+ deep at row 2/],
    ['a first line of objects in objects', `{"code":"a","url":${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}}`, /nested more than \d+ deep at row 1/],
    ['a list with lists in lists', `[{"code":"a","url":"https://example.org/","title":${deep}}]`, /nested more than \d+ deep at row 1/],
    ['a list that never ends', `[{"code":"a","url":"https://example.org/"},"${'x'.repeat(limits.importRecord * 4)}`, /more than \d+ characters/],
    ['JSON that breaks off', '[{"code":"a","url":"https://example.org/"},{]', /not valid JSON after row 1/],
    ['a dump that breaks off', dump.slice(0, dump.indexOf("'192.0.2.2'")), /not a whole mysqldump/],
    ['a dump without links', 'INSERT INTO `wp_posts` VALUES (1);\n', /This is not a file of yourls/],
    ['a dump with a string that never ends', `INSERT INTO \`yourls_url\` VALUES ('${'x'.repeat(limits.importRecord * 4)}`, /more than \d+ characters/],
  ])('%s is refused with a sentence', async (_, text, sentence) => {
    await expect(read(text, 'auto', 8192)).rejects.toThrow(sentence)
    await expect(read(text, 'auto', 8192)).rejects.toHaveProperty('name', 'QuickLinkError')
  }) // prettier-ignore

  it('a format that was asked for is held to', async () => {
    await expect(read('code,url\na,https://example.org/\n', 'shlink')).rejects.toThrow(/not a file of shlink/)
  })

  it('whatever is read, it ends in rows or in a sentence', searches, async () => {
    const begin = fc.constantFrom('code,url\n', '{"code":"a","url":"b"}\n', '[', '{"data":[', dump.slice(0, 600), '')
    const some = fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('"', "'", '\\', ',', '\n', '(', ')', ';', '{', '}', '[', ']', '`', '--', '/*')), { maxLength: 60 }) // prettier-ignore
    await search(
      'files of imports',
      fc.asyncProperty(begin, some, fc.integer({ min: 1, max: 20 }), async (head, tail, size) => {
        await read(head + tail.join(''), 'auto', size).catch((error: unknown) => {
          expect(error).toHaveProperty('name', 'QuickLinkError')
        })
      }),
      150,
    )
  })
})
