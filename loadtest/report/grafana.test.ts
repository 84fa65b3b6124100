import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { annotate, basic, dashboardUrl, regionOf } from './grafana.ts'
import type { Report } from './report.ts'

let stub: Server
let heard: { method: string | undefined; url: string | undefined; who: string | undefined; body: unknown } | undefined
let status: number

beforeEach(async () => {
  status = 200
  stub = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const { method, url, headers } = request
      heard = { method, url, who: headers.authorization, body: JSON.parse(Buffer.concat(chunks).toString()) }
      response.writeHead(status).end('{}')
    })
  })
  stub.listen(0, '127.0.0.1')
  await once(stub, 'listening')
})

afterEach(() => stub.close())

const grafana = () => ({ url: `http://127.0.0.1:${(stub.address() as AddressInfo).port}`, authorization: basic('a:b') })
const mark = { time: 7, tags: ['quicklink-drill', 'fault'], text: 'redis-refused: kill -9 of Redis' }

test('a mark of a drill has the tags that the dashboards look for', async () => {
  expect(await annotate(grafana(), mark)).toBe(true)
  const who = `Basic ${Buffer.from('admin:a:b').toString('base64')}`
  expect(heard).toEqual({ method: 'POST', url: '/api/annotations', who, body: mark })
  const dashboard = readFileSync(new URL('../../grafana/dashboards/drills.json', import.meta.url), 'utf8')
  expect(JSON.stringify(JSON.parse(dashboard))).toContain(JSON.stringify(mark.tags))
})

test('a run of a load test is a region, as long as its phases', () => {
  const run = { kind: 'load', name: 'steady', title: 'A day.', verdict: 'PASS', at: '2030-01-02T03:04:05Z' } as const
  const time = Date.parse(run.at)
  expect(regionOf({ ...run, phases: [{ name: 'baseline', fromS: 3, toS: 63 }] } as unknown as Report)).toEqual({
    time,
    timeEnd: time + 63_000,
    tags: ['quicklink', 'load', 'steady'],
    text: 'PASS: steady. A day.',
  })
})

test('the link leads to the dashboard of load and drills, at the time of the run', () => {
  const { uid } = JSON.parse(readFileSync(new URL('../../grafana/dashboards/drills.json', import.meta.url), 'utf8')) as { uid: string } // prettier-ignore
  const phases = [{ name: 'baseline', fromS: 0, toS: 60 }]
  const [path, query] = dashboardUrl('https://grafana.example.org/', { at: '1970-01-01T00:01:00Z', phases }).split('?')
  expect(path).toBe(`https://grafana.example.org/d/${uid}`)
  expect(query).toBe('from=30000&to=150000')
})

test('a Grafana that refuses, or is not there, is no reason to stop', async () => {
  status = 401
  expect(await annotate(grafana(), mark)).toBe(false)
  expect(await annotate({ ...grafana(), url: 'http://127.0.0.1:1' }, mark)).toBe(false)
})
