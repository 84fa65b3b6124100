import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { waitFor } from '../../../embedded/wait.ts'
import { watchAlerts, type Alerts } from './alerts.ts'

/** What Prometheus answers, in its own form. */
let now: { state: 'pending' | 'firing'; labels: { alertname: string; severity: string } }[]
let stub: Server
let alerts: Alerts

const one = (alertname: string, state: 'pending' | 'firing' = 'firing', severity = 'warning') => ({ state, labels: { alertname, severity } }) // prettier-ignore

beforeEach(async () => {
  now = []
  stub = createServer((_, response) => response.end(JSON.stringify({ status: 'success', data: { alerts: now } })))
  stub.listen(0, '127.0.0.1')
  await once(stub, 'listening')
  alerts = watchAlerts(`http://127.0.0.1:${(stub.address() as AddressInfo).port}`, 20)
})

afterEach(async () => {
  await alerts.stop()
  stub.close()
})

test('an alert rings from when it is first seen firing until it no longer is; each severity for itself', async () => {
  now = [one('A', 'pending')]
  await new Promise((resolve) => stub.once('request', resolve))
  now = [one('A'), one('A', 'firing', 'critical'), one('B', 'pending')]
  await waitFor(() => alerts.ringing().length > 0)
  expect(alerts.ringing()).toEqual(['A'])
  now = [one('A')]
  await waitFor(() => alerts.rung.some(({ toMs }) => toMs !== undefined))
  now = []
  await waitFor(() => alerts.ringing().length === 0)
  expect(alerts.rung.map(({ name, severity }) => [name, severity])).toEqual([['A', 'warning'], ['A', 'critical']])
  for (const { fromMs, toMs = NaN } of alerts.rung) expect(toMs).toBeGreaterThan(fromMs)
}) // prettier-ignore

test('an alert that rings again is another ringing', async () => {
  now = [one('A')]
  await waitFor(() => alerts.rung.length === 1)
  now = []
  await waitFor(() => alerts.ringing().length === 0)
  now = [one('A')]
  await waitFor(() => alerts.rung.length === 2)
})

test('a Prometheus that does not answer is noticed, until nobody asks any more', async () => {
  await waitFor(() => alerts.silentMs() > 0)
  stub.close()
  stub.closeAllConnections()
  await waitFor(() => alerts.silentMs() > 300)
  await alerts.stop()
  const silentMs = alerts.silentMs()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(alerts.silentMs()).toBe(silentMs)
})
