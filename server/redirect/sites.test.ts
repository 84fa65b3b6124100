// Whose links a host means, on both ways that a request can take: b.example is a further domain, gone.example was one.
import { describe, expect, it } from 'vitest'
import { ask, dial, start, type Client } from './front-door.client.stub.ts'
import { stubDomains, stubSites, unbelieved } from './front-door.stub.ts'
import { proofPath, Sites } from './sites.ts'

const request = (path: string, ...fields: string[]): string => [`GET ${path} HTTP/1.1`, ...fields, '', ''].join('\r\n')
const of = (host: string, path = '/Labc123', ...more: string[]): string => request(path, `Host: ${host}`, ...more)
const gist = async (client: Client, text: string): Promise<string> => {
  const answer = await ask(client, text)
  return [answer.slice(9, 12), /Location: (\S*)\r\n/.exec(answer)?.[1]].filter(Boolean).join(' ')
}
const ofMain = '302 https://example.com/Labc123?a=b&c=%20#d'
const ofB = '302 https://example.com/b.example/Labc123?a=b&c=%20#d'
const noneOfB = '302 https://example.com/none'

describe.each(['raw', 'http'] as const)('the host of a request, FRONT_DOOR=%s,', (frontDoor) => {
  it('may be another one in each request of a connection', async () => {
    const { port } = await start(frontDoor)
    const client = await dial(port)
    for (const [host, wanted] of [
      ['a.example', ofMain],
      ['b.example', ofB],
      ['gone.example', '404'],
      ['B.EXAMPLE.:8080', ofB],
      ['a.example:80', ofMain],
      ['never.example', ofMain],
      ['b.example.never.example', ofMain],
      ['[::1]:80', ofMain],
      ['b.example', ofB],
      ['b.example..', ofMain],
    ] as const)
      expect([host, await gist(client, of(host))]).toEqual([host, wanted])
  })

  it('is whose it is now, on a connection that has asked for it before', async () => {
    const { port } = await start(frontDoor)
    const client = await dial(port)
    const domain = { host: 'late.example', rootUrl: null, notFoundUrl: null, isRemoved: false }
    try {
      for (const [more, wanted] of [
        [[], ofMain],
        [[domain], ofB.replace('b.example', 'late.example')],
        [[{ ...domain, isRemoved: true }], '404'],
        [[], ofMain],
      ] as const) {
        stubSites.learn([...stubDomains, ...more])
        expect(await gist(client, of('late.example'))).toBe(wanted)
        expect(await gist(client, of('late.example'))).toBe(wanted)
      }
    } finally {
      stubSites.learn(stubDomains)
    }
  })

  it('goes with codes of any length', async () => {
    const { port } = await start(frontDoor)
    const client = await dial(port)
    const code = 'L'.padEnd(64, 'c')
    expect(await gist(client, of('b.example', `/${code}`))).toContain(`302 https://example.com/b.example/${code}`)
    expect(await gist(client, of('b.example', `/${code}c`))).toBe(noneOfB)
    expect(await gist(client, of('b.example'))).toBe(ofB)
  })

  it('is the one of the absolute form, if there is one', async () => {
    const { port } = await start(frontDoor)
    const client = await dial(port)
    expect(await gist(client, of('a.example', 'http://b.example/Labc123'))).toBe(ofB)
    expect(await gist(client, of('b.example', 'HTTPS://A.example:443/Labc123'))).toBe(ofMain)
    expect(await gist(client, of('a.example', 'http://gone.example/Labc123'))).toBe('404')
  })

  it('is nobody, in HTTP/1.0: then it is the default domain', async () => {
    const { port } = await start(frontDoor)
    expect(await gist(await dial(port), 'GET /Labc123 HTTP/1.0\r\n\r\n')).toBe(ofMain)
    expect(await gist(await dial(port), 'GET /Labc123 HTTP/1.0\r\nHost: b.example\r\n\r\n')).toBe(ofB)
  })

  it('is what a proxy says that is believed, and nobody else', async () => {
    const { port } = await start(frontDoor)
    const proxy = await dial(port)
    const forwarded = of('a.example', '/Labc123', 'X-Forwarded-Host: b.example, a.example')
    expect(await gist(proxy, forwarded)).toBe(ofB)
    expect(await gist(proxy, of('b.example', '/Labc123', 'x-forwarded-host: a.example'))).toBe(ofMain)
    expect(await gist(proxy, of('b.example', '/Labc123', 'X-Forwarded-Host:'))).toBe(ofB)
    expect(await gist(await dial(port, unbelieved), forwarded)).toBe(ofMain)
  })

  it('has pages of its own, and no API', async () => {
    const { port, counted } = await start(frontDoor)
    const client = await dial(port)
    expect(await gist(client, of('b.example', '/'))).toBe('302 https://example.com/')
    expect(await gist(client, of('b.example', '/robots.txt'))).toBe('200')
    expect(await gist(client, of('a.example', '/api/x'))).toBe('200')
    for (const path of ['/api/x', '/api', '/Nabc123', '/no/code', '/b.example/Labc123', '/docs'])
      expect([path, await gist(client, of('b.example', path))]).toEqual([path, noneOfB])
    for (const path of ['/api/x', '/', '/robots.txt', '/Labc123'])
      expect([path, await gist(client, of('gone.example', path))]).toEqual([path, '404'])
    const post = (host: string): string => `POST /api/x HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 1\r\n\r\nx`
    expect(await gist(client, post('b.example'))).toBe('405')
    expect(await gist(client, post('a.example'))).toBe('200')
    // Whoever tries codes there is told to stop, as everywhere.
    expect(await gist(client, of('b.example', '/Nabc123', 'X-Forwarded-For: 203.0.113.9'))).toBe('429')
    expect(counted.clicks).toBe(0)
  })
})

it('a link of the default domain does not answer by a path that names a domain', async () => {
  const { port } = await start()
  expect(await gist(await dial(port), of('a.example', '/b.example/Labc123'))).toBe('404')
})

it('before it is known which domains there are, a host that is not ours for sure has no links', () => {
  const sites = new Sites('https://Go.example:8443/', undefined, () => false)
  expect(sites.areMany).toBe(true)
  expect(sites.of('go.example').always).toBeUndefined()
  expect(sites.of('b.example').always?.status).toBe(503)
  sites.learn([])
  expect(sites.areMany).toBe(false)
})

it('what PUBLIC_URL names is the default domain, whatever it was', () => {
  const sites = new Sites('https://go.example', undefined, () => false)
  sites.learn([{ host: 'go.example', rootUrl: null, notFoundUrl: null, isRemoved: true }])
  expect(sites.of('go.example')).toBe(sites.main)
})

it('a domain says what nobody else can, once the secret is known; and that is no sign that the domains are', () => {
  const sites = new Sites('https://go.example', undefined, () => false)
  sites.identify((host) => `proof of ${host}`)
  expect(sites.of('b.example').always?.status).toBe(503)
  sites.learn([
    { host: 'b.example', rootUrl: null, notFoundUrl: null, isRemoved: false },
    { host: 'gone.example', rootUrl: null, notFoundUrl: null, isRemoved: true },
  ])
  expect(sites.proofs()).toEqual({ 'b.example': 'proof of b.example' })
  const said: string[] = []
  sites
    .of('b.example')
    .small.get(proofPath)
    ?.write({ write: (text) => said.push(text) > 0 }, undefined, 'now', false, false)
  expect(said.join()).toMatch(/\r\n\r\nproof of b\.example\n$/)
  expect(sites.of('gone.example').small.has(proofPath)).toBe(false)
})
