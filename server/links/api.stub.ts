// The API alone, on port 0 and a database of its own, with the caches stubbed out.
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import { expect } from 'vitest'
import { createAnswers } from '../api/answers.ts'
import { apiRouter, type ApiDeps } from '../api/router.ts'
import { boot, preparation } from '../boot.ts'
import { loadConfig } from '../config.ts'
import { openPostgres, type Postgres } from '../connections/postgres.ts'
import type { Known } from '../link.ts'
import { hashKey } from '../tenants/keys.ts'
import { freshDatabase } from '../../testing/services.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever the API said, to be compared
  readonly body: any
}

interface CallOptions {
  readonly key?: string | null
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: string | Buffer
  readonly headers?: Record<string, string>
}

export interface Api {
  readonly db: Postgres
  readonly host: string
  readonly announced: Known[]
  readonly logged: { details: object; message: string }[]
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  create(body: object, options?: CallOptions): Promise<Answer>
  addTenant(id: string): Promise<string>
  close(): Promise<void>
}

export const ownerKey = `owner-${'k7Qz'.repeat(10)}`
export const publicUrl = 'https://ql.test'

export async function startApi(options: { databaseUrl?: string; admission?: ApiDeps['admission'] } = {}): Promise<Api> {
  const databaseUrl = options.databaseUrl ?? (await freshDatabase())
  const dataDir = await mkdtemp(join(tmpdir(), 'quicklink-api-'))
  const config = loadConfig({
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    PUBLIC_URL: publicUrl,
    OWNER_KEY: ownerKey,
  })
  const logged: Api['logged'] = []
  const note = (details: object, message: string): void => {
    logged.push({ details, message })
  }
  const log = { info: note, warn: note, error: note }
  const booted = await boot(config, log)
  const db = openPostgres({
    url: databaseUrl,
    name: 'test',
    maxConnections: 8,
    connectMs: 500,
    queryMs: config.apiDbTimeoutMs,
    onError: () => undefined,
  })
  const announced: Known[] = []
  const announcer = {
    asOf: () => ({ passes: 0, cursor: null }),
    announce: (_code: unknown, known: Known) => Promise.resolve(void announced.push(known)),
  }
  const { admission } = options
  const app = express()
  app.use(
    '/api/v1',
    apiRouter({
      answers: createAnswers(() => undefined),
      config,
      log,
      sql: db,
      boot: booted,
      preparation: preparation(config, log, booted),
      announcer,
      ...(admission ? { admission } : {}),
    }),
  )
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`

  const call: Api['call'] = async (method, path, { key = ownerKey, body, raw, headers } = {}) => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(`http://${host}/api/v1${path}`, {
      method,
      headers: {
        ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
        ...(sent === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent as string }),
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: text === '' ? undefined : JSON.parse(text),
    }
  }
  return {
    db,
    host,
    announced,
    logged,
    call,
    create: (body, more) => call('POST', '/links', { body, ...more }),
    async addTenant(id) {
      const key = `tenant-key-of-${id}`
      await db.query(`insert into tenants (id, name, tier) values ($1, $1, 'standard')`, [id])
      await db.query('insert into api_keys (id, tenant, name, key_hash) values ($1, $1, $1, $2)', [id, hashKey(key)])
      return key
    },
    async close() {
      await new Promise((resolve) => server.close(resolve).closeAllConnections())
      await db.close()
      await rm(dataDir, { recursive: true })
    },
  }
}

export function expectProblem(answer: Answer, status: number, code: string, field?: string): void {
  expect(answer.body).toMatchObject({ type: 'about:blank', status, code })
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/)
  expect(answer.body.title).toMatch(/./)
  expect(answer.body.detail).toMatch(/^[^\n]+\.$/)
  if (field !== undefined) {
    expect(answer.body.field).toBe(field)
    expect(answer.body.detail).toContain(field)
  }
}

export const codesOf = (page: Answer): string[] => (page.body.items as { code: string }[]).map((item) => item.code)
