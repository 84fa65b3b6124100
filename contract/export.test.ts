// All links of a tenant in one answer, for spreadsheets and for programs.
import { beforeAll, describe, expect, it } from 'vitest'
import { fresh, problem, target, targets, type QuickLink, type Tenant } from './quicklink.ts'

describe.each(targets)('%s', (_, open) => {
  let ql: QuickLink
  let acme: Tenant
  const said = { title: '=HYPERLINK("x")', note: 'Two\nlines, "quoted"', tags: ['b', 'A'] }
  const codes = { plain: fresh('-plain'), secret: fresh('secret'), guided: fresh('guided') }
  beforeAll(async () => {
    ql = await open()
    acme = await ql.tenant({ tier: 'unlimited' })
    const rules = [{ when: { os: 'ios' }, url: 'https://example.org/ios' }]
    for (const more of [
      { code: codes.plain, ...said, expiredUrl: 'https://example.org/over', forwardQuery: true },
      { code: codes.secret, password: 'correct horse', enabled: false },
      { code: codes.guided, rules, startsAt: '2099-01-01T00:00:00Z', monthlyHits: 7 },
    ]) {
      expect((await acme.api('POST', '/links', { url: target, ...more })).status).toBe(201)
    }
  })

  it('200: ndjson has each link as it is read, the oldest first', async () => {
    const answer = await acme.api('GET', '/links/export?format=ndjson')
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/x-ndjson'])
    expect(answer.text).toMatch(/\n$/)
    const links = answer.text.trimEnd().split('\n').map((line) => JSON.parse(line) as unknown) // prettier-ignore
    const read = await Promise.all(
      Object.values(codes).map(async (code) => (await acme.api('GET', `/links/${code}`)).body),
    )
    expect(links).toEqual(read)
  })

  it('200: csv has a column for each field, and nothing that a spreadsheet obeys', async () => {
    const answer = await acme.api('GET', '/links/export')
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8; header=present')
    const createdAt = async (code: string): Promise<string> =>
      String((await acme.api('GET', `/links/${code}`)).body['createdAt'])
    const [plain, secret, guided] = await Promise.all(Object.values(codes).map(createdAt))
    const short = (code: string): string => `${ql.publicUrl}/${code}`
    expect(answer.text.split('\r\n')).toEqual([
      'code,domain,shortUrl,url,title,note,tags,enabled,permanent,startsAt,expiresAt,expiredUrl,forwardQuery,monthlyHits,rules,hasPassword,clicks,state,tenant,createdBy,createdAt,updatedAt',
      `'${codes.plain},,${short(codes.plain)},${target},"'=HYPERLINK(""x"")","Two\nlines, ""quoted""",A|b,true,false,,,https://example.org/over,true,,,false,0,active,${acme.id},test,${plain},${plain}`,
      `${codes.secret},,${short(codes.secret)},,,,,false,false,,,,false,,,true,0,disabled,${acme.id},test,${secret},${secret}`,
      `${codes.guided},,${short(codes.guided)},${target},,,,true,false,2099-01-01T00:00:00.000Z,,,false,7,"[{""when"":{""os"":""ios""},""url"":""https://example.org/ios""}]",false,0,scheduled,${acme.id},test,${guided},${guided}`,
      '',
    ])
    expect(answer.text).not.toContain('correct horse')
  })

  it('200: filters go together, also those that no list would read', async () => {
    const exported = async (query: string): Promise<string[]> =>
      (await acme.api('GET', `/links/export?format=ndjson&${query}`)).text.match(/(?<=^\{"code":")[^"]+/gm) ?? []
    expect(await exported('tag=a&createdBy=test&state=active')).toEqual([codes.plain])
    expect(await exported('enabled=true&q=guided&createdAfter=2020-01-01T00:00:00Z')).toEqual([codes.guided])
    // A server builds the indexes for parts of words beside its work.
    await expect.poll(() => exported('q=hyperlink'), { timeout: 20_000 }).toEqual([codes.plain])
    expect(await exported('tag=none')).toEqual([])
    expect(await exported(`createdBy=test&url=${encodeURIComponent(target)}`)).toEqual([codes.plain])
    expect((await acme.api('GET', '/links/export?tag=none')).text).toMatch(/^code,domain,[^\n]*\r\n$/)
  })

  it("a tenant exports its own links, the owner a tenant's or all", async () => {
    const other = await ql.tenant()
    expect((await other.api('GET', '/links/export?format=ndjson')).text).toBe('')
    expect(problem(await other.api('GET', `/links/export?tenant=${acme.id}`))).toBe('403 forbidden')
    const theirs = await ql.api('GET', `/links/export?tenant=${acme.id}`)
    expect(theirs.text).toBe((await acme.api('GET', '/links/export')).text)
    expect((await ql.api('GET', '/links/export')).text).toContain(codes.secret)
  })

  it('HEAD has no body; what is not known is refused by its name', async () => {
    const { status, text } = await acme.api('HEAD', '/links/export')
    expect([status, text]).toEqual([200, ''])
    expect(problem(await acme.api('GET', '/links/export?format=xml'))).toBe('400 invalid format')
    expect(problem(await acme.api('GET', '/links/export?limit=3'))).toBe('400 invalid limit')
    expect(problem(await acme.api('GET', '/links/export?domain=none.example'))).toBe('404 not_found domain')
  })
})
