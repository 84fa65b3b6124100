import { expect, test } from 'vitest'
import { limits } from '../limits.ts'
import { createLog, type Log } from './log.ts'

function capture(): { log: Log; written: () => string; last: () => Record<string, unknown> } {
  const lines: string[] = []
  const log = createLog({ logLevel: 'debug' }, { write: (line: string) => void lines.push(line) })
  return { log, written: () => lines.join(''), last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> }
}

test('lines are JSON with a time in UTC and a level by name', () => {
  const { log, last } = capture()
  log.info({ port: 1 }, 'listening')
  expect(last()).toMatchObject({ level: 'info', msg: 'listening', port: 1, pid: process.pid })
  expect(last()['time']).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/)
})

test('no password of a connection string, wherever it hides', () => {
  const { log, written, last } = capture()
  const cause = new Error('connect to redis://:hunter2@localhost:6379/0 failed')
  const error = new Error('postgres://me:hunter2@db/quicklink is away', { cause })
  log.error({ err: error }, 'postgres://me:hunter2@db/quicklink')
  log.error({ somewhere: { deep: 'see postgresql://me:hunter2@db/x?sslmode=require&password=hunter2' } })
  log.error({ err: new AggregateError([error]) })
  log.error(error)
  expect(written()).not.toContain('hunter2')
  expect(written()).toContain('postgres://***@db/quicklink')
  expect(last()['level']).toBe('error')
})

test('no keys: neither in known fields nor in an Authorization header', () => {
  const { log, written } = capture()
  log.info({ ownerKey: 'hunter2', headers: { authorization: 'Bearer hunter2' }, salt: 'hunter2' })
  log.info('got Authorization: Bearer hunter2 from somebody')
  expect(written()).not.toContain('hunter2')
})

test('no query string, and the line stays JSON', () => {
  const { log, written, last } = capture()
  log.warn({ url: '/abc1234?email=a@b.c&t="x"' }, 'GET https://example.com/p/q?email=a@b.c')
  expect(written()).not.toMatch(/email|a@b/)
  expect(last()['msg']).toBe('GET https://example.com/p/q?***')
})

test('of an error only known fields: not what a library hangs onto it', () => {
  const { log, last } = capture()
  const error = Object.assign(new Error('broken'), {
    code: '23505',
    detail: 'Key (url)=(secret)',
    connection: { a: 1 },
  })
  log.error({ err: error })
  expect(last()['err']).toEqual({
    type: 'Error',
    message: 'broken',
    code: '23505',
    stack: expect.any(String) as string,
  })
})

test('an error that causes itself is described all the same', () => {
  const { log, last } = capture()
  const error = new Error('round')
  error.cause = error
  log.error({ err: error })
  expect(last()['err']).toMatchObject({ message: 'round' })
})

test('of a message and a stack only so much, and a key in them not at all', () => {
  const { log, written, last } = capture()
  const key = `ql_${'k'.repeat(43)}`
  log.error({ err: new Error(`postgres://me:hunter2@db ${key} ${'/x'.repeat(30_000)}`) })
  expect(written()).not.toMatch(/hunter2|kkkk/)
  const { message, stack } = last()['err'] as { message: string; stack: string }
  expect(message.length).toBeLessThan(limits.loggedMessage + 30)
  expect(stack.length).toBeLessThan(limits.loggedStack + 30)
})

test('a line of 64 kB, of whatever a stranger may choose, is scrubbed in linear time', () => {
  const { log } = capture()
  const pieces = [
    'a',
    '/',
    '/x',
    'a://',
    '://a',
    '?',
    '/?',
    '@',
    'Bearer ',
    'Bearer',
    'token',
    'ql_',
    ' ',
    '\n',
    'a/?b ',
  ]
  const lines = pieces.map((piece) => piece.repeat(65_536 / piece.length))
  const beganUs = process.threadCpuUsage()
  for (const line of lines) log.warn({ path: line }, line)
  const { user, system } = process.threadCpuUsage(beganUs)
  expect((user + system) / 1000 / lines.length).toBeLessThan(50)
})
