// Further domains: hosts whose links are their own.
import { describe, expect, it } from 'vitest'
import { waitFor } from '../embedded/wait.ts'
import { created } from '../testing/http.ts'
import { fresh, problem, target, targets, type Item } from './quicklink.ts'

const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string
const [one, two] = ['https://example.org/one', 'https://example.org/two']

describe.each(targets)('%s', async (_, open) => {
  const ql = await open()
  const host = (word = 'go'): string => `${fresh(word)}.example`
  const make = async (more: object = {}): Promise<string> =>
    String((await created(ql.api, '/domains', { host: host(), ...more }))['host'])
  const visit = async (at: string, path: string, accept = '*/*'): Promise<string> => {
    const { status, headers } = await ql.get(path, { Host: at, Accept: accept })
    return [String(status), headers.location].filter(Boolean).join(' ')
  }
  const publicHost = (): string => new URL(ql.publicUrl).host

  it('domains are made 201, shown, listed, changed and removed', async () => {
    const name = host('Bücher').toLowerCase()
    const made = await ql.api('POST', '/domains', { host: name.toUpperCase(), rootUrl: one })
    const ascii = new URL(`http://${name}`).hostname
    const path = `/domains/${ascii}`
    expect([made.status, made.headers.location]).toEqual([201, `/api/v1${path}`])
    expect(made.body).toEqual({
      host: ascii,
      tenants: [],
      rootUrl: one,
      notFoundUrl: null,
      createdAt: time,
      updatedAt: time,
    })
    expect((await ql.api('GET', `/domains/${encodeURIComponent(name)}`)).body).toEqual(made.body)
    expect((await ql.api('GET', '/domains')).body['items']).toContainEqual(made.body)
    const { id } = await ql.tenant()
    const change = { rootUrl: null, notFoundUrl: two, tenants: [id] }
    expect((await ql.api('PATCH', path, change)).body).toMatchObject({ host: ascii, ...change })
    expect((await ql.api('DELETE', path)).status).toBe(204)
    for (const method of ['GET', 'DELETE']) expect(problem(await ql.api(method, path))).toBe('404 not_found')
    expect(problem(await ql.api('PATCH', path, change))).toBe('404 not_found')
  })

  it('the same code leads elsewhere on each domain, and each is read, changed, counted and deleted by itself', async () => {
    const at = await make()
    const code = fresh('same')
    const ofMain = await ql.api('POST', '/links', { url: one, code })
    const other = await ql.api('POST', '/links', { url: two, code, domain: at })
    expect(ofMain.body).toMatchObject({ code, domain: null, shortUrl: `${ql.publicUrl}/${code}` })
    const { protocol, port } = new URL(ql.publicUrl)
    const shortUrl = `${protocol}//${at}${port === '' ? '' : `:${port}`}/${code}`
    expect(other.body).toMatchObject({ code, domain: at, url: two, shortUrl })
    const path = `/links/${code}?domain=${at}`
    expect(other.headers.location).toBe(`/api/v1${path}`)
    expect((await ql.api('GET', path)).body).toEqual(other.body)
    expect((await ql.api('GET', `/links/${code}?domain=${publicHost()}`)).body).toEqual(ofMain.body)
    expect([await visit(publicHost(), `/${code}`), await visit(at, `/${code}`)]).toEqual([`302 ${one}`, `302 ${two}`])
    expect(await visit('some.other.example', `/${code}`)).toBe(`302 ${one}`)
    expect(await visit(publicHost(), `/${at}/${code}`)).toBe('404')

    expect((await ql.api('PATCH', path, { url: target })).body).toMatchObject({ url: target, domain: at })
    expect((await ql.api('GET', `/links/${code}`)).body['url']).toBe(one)
    for (const of of ['hits', 'clicks'])
      expect((await ql.api('GET', `/links/${code}/${of}?domain=${at}`)).status).toBe(200)
    const seen = await ql.api('GET', `/cache/${code}?domain=${at}`)
    expect(seen.body).toMatchObject({ code, domain: at, postgres: { url: target } })
    const touched = await ql.api('POST', '/cache/invalidate', { code, domain: at })
    expect(touched.body).toMatchObject({ code, domain: at })
    expect((await ql.api('DELETE', path)).status).toBe(204)
    expect((await ql.api('GET', path)).status).toBe(404)
    expect((await ql.api('GET', `/links/${code}`)).status).toBe(200)
  })

  it('a list is of all domains, or of one', async () => {
    const at = await make()
    const word = fresh('listed')
    for (const domain of [at, publicHost()]) await created(ql.api, '/links', { url: one, code: word, domain })
    const minted = await created(ql.api, '/links', { url: one, domain: at })
    expect(minted['code']).toMatch(/^[0-9A-Za-z]{7}$/)
    const domains = async (query: string): Promise<unknown[]> =>
      ((await ql.api('GET', `/links?limit=100&${query}`)).body['items'] as Item[]).map(({ domain }) => domain)
    expect(await domains(`q=${word}`)).toEqual([null, at])
    expect(await domains(`domain=${at}`)).toEqual([at, at])
    expect(await domains(`q=${word}&domain=${publicHost()}`)).toEqual([null])
  })

  it('a tenant makes links where it may, and keeps those that it has', async () => {
    const [acme, other] = [await ql.tenant(), await ql.tenant()]
    const at = await make({ tenants: [acme.id] })
    const link = { url: target, domain: at, code: fresh('theirs') }
    expect(problem(await other.api('POST', '/links', link))).toBe('403 forbidden domain')
    expect((await acme.api('POST', '/links', link)).body).toMatchObject({ domain: at, tenant: acme.id })
    expect((await ql.api('PATCH', `/domains/${at}`, { tenants: [] })).body['tenants']).toEqual([])
    expect(problem(await acme.api('POST', '/links', { url: target, domain: at }))).toBe('403 forbidden domain')
    const path = `/links/${link.code}?domain=${at}`
    expect((await acme.api('PATCH', path, { url: one })).status).toBe(200)
    expect(problem(await other.api('GET', path))).toBe('404 not_found')
    // The owner needs no permission.
    expect((await ql.api('POST', '/links', { url: target, domain: at })).status).toBe(201)
  })

  it('a request that is repeated with its key gets the same link, of its domain', async () => {
    const at = await make()
    const key = { 'Idempotency-Key': fresh('key') }
    const [first, again] = [0, 1].map(() => ql.api('POST', '/links', { url: target, domain: at }, key))
    expect((await again)?.body).toEqual((await first)?.body)
    expect((await again)?.headers.location).toMatch(new RegExp(`\\?domain=${at}$`))
    expect(problem(await ql.api('POST', '/links', { url: target }, key))).toBe('409 conflict Idempotency-Key')
  })

  it('a further domain has a root and a 404 of its own, and neither the API nor a description of it', async () => {
    const at = await make({ rootUrl: one, notFoundUrl: two })
    expect(await visit(at, '/')).toBe(`302 ${one}`)
    expect(await visit(at, '/none-such')).toBe(`302 ${two}`)
    expect(await visit(at, '/api/v1/openapi.json')).toBe(`302 ${two}`)
    expect(await visit(at, '/robots.txt')).toBe('200')
    const plain = await make()
    expect([await visit(plain, '/'), await visit(plain, '/none-such'), await visit(plain, '/api/docs')]).toEqual([
      '200',
      '404',
      '404',
    ])
  })

  it('a domain goes when it has no links, and its host is nobody’s until it is made again', async () => {
    const at = await make()
    const code = fresh('gone')
    await created(ql.api, '/links', { url: one, code })
    await created(ql.api, '/links', { url: two, code, domain: at, enabled: false })
    const path = `/domains/${at}`
    expect(problem(await ql.api('DELETE', path))).toBe('409 conflict host')
    expect((await ql.api('DELETE', `/links/${code}?domain=${at}`)).status).toBe(204)
    expect((await ql.api('DELETE', path)).status).toBe(204)
    // Each worker hears of it by itself.
    const denied = [() => visit(at, '/'), () => visit(at, `/${code}`)]
    for (const ask of denied) await waitFor(async () => (await ask()) === '404')
    const link = { url: one, domain: at }
    await waitFor(async () => problem(await ql.api('POST', '/links', link)) === '404 not_found domain')
    expect((await ql.api('POST', '/domains', { host: at })).status).toBe(201)
    expect([await visit(at, '/'), await visit(at, `/${code}`)]).toEqual(['200', '404'])
  })

  it('refused: what is no host, our own, or taken; tenants that are none; targets at ourselves; unknown domains', async () => {
    const at = await make()
    for (const wrong of ['', 'go', '192.0.2.1', '[::1]', 'a.example:80', 'http://a.example', 'a..example', 7, null])
      expect([wrong, problem(await ql.api('POST', '/domains', { host: wrong }))]).toEqual([wrong, '400 invalid host'])
    if (publicHost().includes('.') && !/^[\d.:]+$/.test(publicHost()))
      expect(problem(await ql.api('POST', '/domains', { host: new URL(ql.publicUrl).hostname }))).toBe(
        '400 invalid host',
      )
    expect(problem(await ql.api('POST', '/domains', { host: at }))).toBe('409 conflict host')
    const another = host()
    expect(problem(await ql.api('POST', '/domains', { host: another, tenants: ['no-such-tenant'] }))).toBe(
      '400 invalid tenants',
    )
    expect(problem(await ql.api('POST', '/domains', { host: another, rootUrl: `http://${another}/` }))).toBe(
      '400 invalid rootUrl',
    )
    expect(problem(await ql.api('PATCH', `/domains/${at}`, { notFoundUrl: 'ftp://a' }))).toBe('400 invalid notFoundUrl')
    expect(problem(await ql.api('PATCH', `/domains/${at}`, { host: another }))).toBe('400 invalid host')
    for (const url of [`https://${at}/x`, `http://${at.toUpperCase()}.:99/`])
      expect(problem(await ql.api('POST', '/links', { url }))).toBe('400 invalid url')
    for (const path of ['/links/abcdefg?domain=', '/links?domain=', '/cache/abcdefg?domain='])
      expect(problem(await ql.api('GET', path + another))).toBe('404 not_found domain')
    expect(problem(await ql.api('POST', '/links', { url: one, domain: another }))).toBe('404 not_found domain')
    expect(problem(await ql.api('POST', '/links', { url: one, domain: at, code: 'api' }))).toBe('400 invalid code')
    const { api } = await ql.tenant()
    expect(problem(await api('POST', '/domains', { host: another }))).toBe('403 forbidden')
  })
})
