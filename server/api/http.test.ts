import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, test } from 'vitest'
import { unavailable } from '../errors.ts'
import { createLog } from '../telemetry/log.ts'
import { problemHandler } from './http.ts'

test('500 says nothing of its reason, which is in the log; what a caller typed into the path is not, whichever way it fails', async () => {
  const lines: string[] = []
  const answers: string[] = []
  const log = createLog({ logLevel: 'debug' }, { write: (line: string) => void lines.push(line) })
  const router = express.Router()
  router.use('/early', () => {
    throw Object.assign(new Error('no relation'), { code: '42P01' })
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
      answers.push(await (await fetch(`${url}/${path}`)).text())
  } finally {
    server.close()
  }
  expect(answers.join('')).not.toMatch(/relation|42P01/)
  expect(JSON.parse(answers[1] ?? '')).toMatchObject({ status: 500, code: 'internal' })
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ err: { message: 'no relation', code: '42P01' } })
  // Only the route that it took, and names.
  expect(lines.join('')).not.toMatch(/VGhpcyBp|xxx/)
  expect(lines.map((line) => (JSON.parse(line) as { path: string }).path)).toEqual([
    '/api/v1/links/:code',
    '/api/v1',
    '/api/v1/links/:code',
    '/api/v1/links/My-Slug_1',
  ])
})
