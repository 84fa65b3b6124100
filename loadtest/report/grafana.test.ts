import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { markInGrafana } from './grafana.ts'

let stub: Server
let asked: { method: string | undefined; url: string | undefined; authorization: string | undefined; body: string }[]
let status: number

beforeEach(async () => {
  asked = []
  status = 200
  stub = createServer((request: IncomingMessage, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      asked.push({ method: request.method, url: request.url, authorization: request.headers.authorization, body })
      response.writeHead(status).end('{}')
    })
  })
  stub.listen(0, '127.0.0.1')
  await once(stub, 'listening')
})

afterEach(() => stub.close())

const grafana = () => ({ url: `http://127.0.0.1:${(stub.address() as AddressInfo).port}`, password: 'a:b' })

test('a mark is an annotation with the tags that the dashboards look for, at this moment', async () => {
  const beganMs = Date.now()
  expect(await markInGrafana(grafana(), 'fault', 'redis-refused: kill -9 of Redis')).toBe(true)
  const [request] = asked
  expect(request).toMatchObject({ method: 'POST', url: '/api/annotations' })
  expect(Buffer.from(request?.authorization?.replace('Basic ', '') ?? '', 'base64').toString()).toBe('admin:a:b')
  const { time, tags, text } = JSON.parse(request?.body ?? '') as { time: number; tags: string[]; text: string }
  expect(text).toBe('redis-refused: kill -9 of Redis')
  expect(time - beganMs).toBeGreaterThanOrEqual(0)
  const dashboard = readFileSync(new URL('../../grafana/dashboards/drills.json', import.meta.url), 'utf8')
  expect(JSON.stringify(JSON.parse(dashboard))).toContain(JSON.stringify(tags))
})

test('a Grafana that refuses, or is not there, is no reason to stop', async () => {
  status = 401
  expect(await markInGrafana(grafana(), 'start', 'x')).toBe(false)
  expect(await markInGrafana({ url: 'http://127.0.0.1:1', password: 'x' }, 'heal', 'x')).toBe(false)
})
