import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, test } from 'vitest'
import { unavailable } from '../errors.ts'
import { createLog } from '../telemetry/log.ts'
import { problemHandler } from './http.ts'

test('what a caller typed into the path is not in the log, whichever way it fails: only the route that it took, and names', async () => {
  const lines: string[] = []
  const log = createLog({ logLevel: 'debug' }, { write: (line: string) => void lines.push(line) })
  const router = express.Router()
  router.use('/early', () => {
    throw new Error('broken')
  })
  router.get('/links/:code', () => {
    throw unavailable('Try again.', new Error('Postgres is away'))
  })
  const server = express()
    .use('/api/v1', router.use(problemHandler(log)))
    .listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`
  const key = 'VGhpcyBpcyBhbiBvd25lciBrZXkgb2YgaXRzIG93bg'
  try {
    for (const path of [`links/${key}?t=${key}`, `early/${key}`, `links/${'x'.repeat(10_000)}`, 'links/My-Slug_1?a=b'])
      await fetch(`${url}/${path}`)
  } finally {
    server.close()
  }
  expect(lines.join('')).not.toMatch(/VGhpcyBp|xxx/)
  expect(lines.map((line) => (JSON.parse(line) as { path: string }).path)).toEqual([
    '/api/v1/links/:code',
    '/api/v1',
    '/api/v1/links/:code',
    '/api/v1/links/My-Slug_1',
  ])
})
