// Against a registry that speaks the distribution API as it is specified: tokens, accepted types, digests of indexes.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { digestOf, readReference } from './registry.ts'

const project = join(import.meta.dirname, '..')
const index = 'application/vnd.oci.image.index.v1+json'
const digestFor = (repository: string, tag: string, age = ''): string =>
  `sha256:${createHash('sha256').update(`${repository}:${tag}${age}`).digest('hex')}`

let registry: Server
let url: string
let asked: string[]
/** A tag that was moved; what one image is; who is not there. */
let state: { age: string; type: string; missing: string }
let folder: string

beforeEach(async () => {
  asked = []
  state = { age: '', type: index, missing: '' }
  registry = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', url)
    if (pathname === '/token') {
      const token = Buffer.from(`${searchParams.get('service') ?? ''} ${searchParams.get('scope') ?? ''}`)
      response.end(JSON.stringify({ token: token.toString('base64url') }))
      return
    }
    const [, repository = '', tag = ''] = /^\/v2\/(.+)\/manifests\/(.+)$/.exec(pathname) ?? []
    const scope = `repository:${repository}:pull`
    const ticket = Buffer.from(`fixture ${scope}`).toString('base64url')
    if (request.headers.authorization !== `Bearer ${ticket}`) {
      response.setHeader('WWW-Authenticate', `Bearer realm="${url}/token",service="fixture",scope="${scope}"`)
      response.writeHead(401).end()
      return
    }
    asked.push(`${request.method ?? ''} ${repository}:${tag}`)
    if (repository === state.missing) return void response.writeHead(404).end()
    const accepted = (request.headers.accept ?? '').includes(index)
    response.setHeader('Content-Type', accepted ? state.type : 'application/vnd.oci.image.manifest.v1+json')
    response.setHeader('Docker-Content-Digest', digestFor(repository, tag, state.age))
    response.end()
  })
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`
  folder = mkdtempSync(join(tmpdir(), 'quicklink-images-'))
  for (const file of [...globSync('docker-compose*.yml', { cwd: project }), 'Dockerfile']) {
    copyFileSync(join(project, file), join(folder, file))
  }
})

afterEach(async () => {
  rmSync(folder, { recursive: true, force: true })
  await new Promise((resolve) => registry.close(resolve))
})

async function refresh(from = url): Promise<{ code: number; text: string }> {
  const args = [join(import.meta.dirname, 'images.ts'), folder]
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, REGISTRY: from } })
    return { code: 0, text: stdout }
  } catch (error) {
    const { code, stderr } = error as { code: number; stderr: string }
    return { code, text: stderr }
  }
}

const contents = (): string =>
  [...globSync('docker-compose*.yml', { cwd: folder }), 'Dockerfile']
    .toSorted()
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('')
const imagesIn = (text: string): string[] =>
  Array.from(text.matchAll(/_IMAGE(?::-|=)([\w./-]+:[\w.@:-]+)/g), ([, image = '']) => image)

test('every image of the compose files and the Dockerfile gets the digest that the registry names, and the next time is the same', async () => {
  expect(await refresh()).toMatchObject({ code: 0 })
  const once = contents()
  const images = imagesIn(once)
  expect(images.length).toBeGreaterThan(12)
  for (const image of images) {
    const { repository, tag } = readReference(image)
    expect(image.split('@')[1], image).toBe(digestFor(repository, tag))
  }
  expect(new Set(asked)).toContain('HEAD library/redis:8.0.6')
  const again = await refresh()
  expect(again).toMatchObject({ code: 0 })
  expect(again.text).toContain('0 files changed')
  expect(contents()).toBe(once)
}, 20_000)

test('a tag that was moved is followed', async () => {
  await refresh()
  state.age = ' moved'
  await refresh()
  expect(contents()).toContain(`redis:8.0.6@${digestFor('library/redis', '8.0.6', ' moved')}`)
  expect(contents()).not.toContain(digestFor('library/redis', '8.0.6'))
}, 20_000)

test('where one image has no answer, no file changes, and one sentence says why', async () => {
  const before = contents()
  state.missing = 'library/postgres'
  expect(await refresh()).toEqual({ code: 1, text: expect.stringMatching(/^Nothing was changed, .* answers 404 for postgres:[\d.]+\)\.\n$/) as string }) // prettier-ignore
  const nobody = await refresh('http://127.0.0.1:9')
  expect(nobody).toEqual({ code: 1, text: expect.stringMatching(/^Nothing was changed, [^\n]+\n$/) as string })
  expect(contents()).toBe(before)
}, 20_000)

test('an image of one architecture is refused: its digest would shut the others out', async () => {
  state.type = 'application/vnd.oci.image.manifest.v1+json'
  await expect(digestOf('redis:8.0.6', url)).rejects.toThrow('one architecture')
})

test('names are read as Docker reads them', () => {
  expect(readReference('redis:8')).toEqual({ host: undefined, repository: 'library/redis', tag: '8' })
  expect(readReference('prom/prometheus:v3@sha256:00')).toEqual({ host: undefined, repository: 'prom/prometheus', tag: 'v3' }) // prettier-ignore
  expect(readReference('localhost:5000/team/image:1')).toEqual({ host: 'localhost:5000', repository: 'team/image', tag: '1' }) // prettier-ignore
})
