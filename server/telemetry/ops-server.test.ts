import { afterEach, beforeEach, expect, test } from 'vitest'
import { startOpsServer, type OpsServer, type Phase } from './ops-server.ts'

let server: OpsServer
let phase: Phase
const errors: unknown[] = []

beforeEach(async () => {
  phase = 'starting'
  server = await startOpsServer('127.0.0.1', 0, {
    phase: () => phase,
    health: () => Promise.resolve({ status: 'degraded', redis: 'down', postgres: 'up' }),
    metrics: () => Promise.resolve('a_total 1\n'),
    status: () => Promise.reject(new Error('no status')),
    onError: (error) => void errors.push(error),
  })
})
afterEach(() => server.close())

const ask = (path: string, init?: RequestInit): Promise<Response> =>
  fetch(`http://127.0.0.1:${server.port}${path}`, init)

test('livez is 200 whatever the phase', async () => {
  for (phase of ['starting', 'serving', 'draining'] as const) expect((await ask('/livez')).status).toBe(200)
})

test('readyz is 503 while starting and draining, and 200 although degraded', async () => {
  expect((await ask('/readyz')).status).toBe(503)
  phase = 'serving'
  const ready = await ask('/readyz')
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'degraded', redis: 'down', postgres: 'up' }])
  phase = 'draining'
  const draining = await ask('/readyz')
  expect([draining.status, await draining.json()]).toEqual([503, { status: 'draining' }])
})

test('metrics are Prometheus text; HEAD has no body', async () => {
  const metrics = await ask('/metrics?x=1')
  expect(metrics.headers.get('content-type')).toContain('version=0.0.4')
  expect(await metrics.text()).toBe('a_total 1\n')
  const head = await ask('/metrics', { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('anything else is refused', async () => {
  expect((await ask('/')).status).toBe(404)
  expect((await ask('/metrics/')).status).toBe(404)
  const post = await ask('/metrics', { method: 'POST', body: 'x' })
  expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
})

test('a page that fails is 500, says no reason, and is reported', async () => {
  const failed = await ask('/statusz')
  expect([failed.status, await failed.json()]).toEqual([500, { status: 'failed' }])
  expect(errors).toHaveLength(1)
})
