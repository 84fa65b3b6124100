// What people read who have asked for something that is not to be had, or that changes nothing.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startServer } from '../testing/server-process.ts'
import { freshDatabase, startRedisServer } from '../testing/services.ts'

const OWNER_KEY = 'ql_Th3C0mmandL1neSp3aksPlainlyToAll'
const home = mkdtempSync(join(tmpdir(), 'quicklink-cli-'))
afterAll(() => rmSync(home, { recursive: true }))
let env: Record<string, string>

beforeAll(async () => {
  const redis = await startRedisServer()
  const server = await startServer({ OWNER_KEY, DATABASE_URL: await freshDatabase(), REDIS_URL: redis.url })
  env = { QUICKLINK_URL: server.url, QUICKLINK_KEY: OWNER_KEY }
})

interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

function run(args: readonly string[]): Promise<Ended> {
  const file = new URL('quicklink.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [file, ...args], { env: { PATH: process.env['PATH'], HOME: home, ...env } })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })))
}
const ql = (line: string): Promise<Ended> => run(line.split(' '))

test('who asks wrongly is told by the words that he typed, and which help to ask for', async () => {
  expect((await ql('links creat https://example.org/')).err).toMatch(
    /Did you mean create\?\)\nTry quicklink links --help\.\n$/,
  )
  expect((await ql('links create')).err).toMatch(/Try quicklink links create --help\.\n$/)
  expect((await ql('links create https://example.org/ --expires soon')).err).toMatch(/^--expires must be a time like /)
  const file = join(home, 'empty.csv')
  writeFileSync(file, '')
  expect((await run(['import', file])).err).toBe(`${file} is empty: send a file of links.\n`)
  expect((await run(['import', file, '--on-conflict', 'maybe'])).err).toMatch(/^--on-conflict must be one of: skip, /)
})

test('an import says what it has left as it was, and that a dry run has made nothing', async () => {
  const file = join(home, 'twice.csv')
  writeFileSync(file, 'code,url\ntwice,https://example.org/\n')
  const tried = await run(['import', file, '--wait', '--dry-run'])
  expect(tried).toMatchObject({ code: 0, err: 'This was a dry run, which makes nothing: import the file without --dry-run.\n' }) // prettier-ignore
  expect(await run(['import', file, '--wait'])).toMatchObject({ code: 0, err: '' })
  expect((await run(['import', file, '--wait'])).err).toMatch(
    /^1 row has a code that is there already, and changed nothing/,
  )
})

test('what nobody has followed has no table of noughts', async () => {
  await ql('links create https://example.org/quiet --code quiet')
  expect((await ql('stats quiet')).out).toMatch(/^Nobody has followed it in this time, nor in as long before\./)
})
