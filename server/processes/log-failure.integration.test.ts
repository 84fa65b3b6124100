// Whatever happens to the log happens to the log alone. Standard output is what somebody has made of it: a pipe, a socket,
// a file, a device.
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { ServerProcess } from '../../testing/server-process.ts'
import { get, start, startReady, until } from './supervised.stub.ts'

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-log-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

function pipe(flags: number): number {
  const path = join(folder(), 'pipe')
  execFileSync('mkfifo', [path])
  return opened(openSync(path, flags))
}

function opened(fd: number): number {
  onTestFinished(() => closeSync(fd))
  return fd
}

/** Far more lines than any pipe or queue holds: some from each worker. */
async function logMuch(running: ServerProcess): Promise<void> {
  for (let n = 0; n < 16; n++) await get(running, '/log/1000')
}

async function goesOn(running: ServerProcess): Promise<void> {
  const before = await running.workerPids()
  await logMuch(running)
  expect(await get(running)).toMatch(/\d+/)
  expect((await running.ready()).status).toBe(200)
  expect(await running.workerPids()).toEqual(before)
  expect(await running.metric('quicklink_worker_restarts_total')).toBe(0)
  expect(await running.metric('quicklink_log_dropped_total')).toBeGreaterThan(0)
  running.signal('SIGTERM')
  expect(await running.ended).toBe(0)
}

const { O_RDWR, O_RDONLY, O_WRONLY, O_NONBLOCK } = constants

test('a pipe that nobody reads: answers go on, lines are dropped and counted, and the stop is clean', async () => {
  await goesOn(await startReady({}, pipe(O_RDWR)))
})

test('a socket that nobody reads: the same, also after a worker was replaced', async () => {
  // What Node calls a pipe is a socket, and nobody reads it until somebody listens.
  const running = await startReady({}, 'unread')
  await logMuch(running)
  await get(running, '/crash').catch(() => undefined)
  await until(async () => expect(await running.workerPids()).toHaveLength(2))
  await logMuch(running)
  expect(await running.metric('quicklink_worker_restarts_total')).toBe(1)
  expect((await running.ready()).status).toBe(200)
  expect(await running.metric('quicklink_log_dropped_total')).toBeGreaterThan(0)
  running.signal('SIGTERM')
  expect(await running.ended).toBe(0)
})

test('a socket that is read: it has the lines of all processes, whole, and the last ones of a worker that dies', async () => {
  const running = await startReady({}, 'read')
  await Promise.all(Array.from({ length: 6 }, () => get(running, '/log/100')))
  await get(running, '/wrong').catch(() => undefined)
  await until(() => expect(running.output()).toMatch(/"a mistake that nobody caught[^]*will be replaced/))
  const lines = running.output().trimEnd().split('\n')
  for (const line of lines) JSON.parse(line)
  expect(lines.filter((line) => line.includes('"a line"'))).toHaveLength(600)
})

test('a pipe whose reader has gone: the same', async () => {
  const path = join(folder(), 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, O_RDONLY | O_NONBLOCK)
  const running = await startReady({}, opened(openSync(path, O_WRONLY)))
  closeSync(reader)
  await goesOn(running)
})

test('a device that is always full: the same', async () => {
  await goesOn(await startReady({}, opened(openSync('/dev/full', O_WRONLY))))
})

test.runIf(process.getuid?.() === 0)('a disk that fills up: the same, and lines go on when it has room', async () => {
  const dir = folder()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', dir], { stdio: 'ignore' })
  } catch {
    return // Not even root may mount here.
  }
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', dir])
  })
  const path = join(dir, 'quicklink.log')
  const running = await startReady({}, opened(openSync(path, 'a')))
  await logMuch(running)
  expect(await running.metric('quicklink_log_dropped_total')).toBeGreaterThan(0)
  truncateSync(path)
  await get(running, '/log/1000')
  const whole = /^\{"level":"warn".*"a line"\}$/m
  await until(() => expect(readFileSync(path, 'utf8')).toMatch(whole))
})

test('a log file that is renamed is opened anew, and no line is lost', async () => {
  const dir = folder()
  const [path, old] = [join(dir, 'quicklink.log'), join(dir, 'quicklink.log.1')]
  const running = await startReady({ LOG_FILE: path })
  const lines = (file: string): number => readFileSync(file, 'utf8').match(/"a line"/g)?.length ?? 0
  let asked = 0
  const logSome = async (): Promise<void> => {
    asked += 100
    await get(running, '/log/100')
  }
  await logSome()
  renameSync(path, old)
  await until(async () => {
    await logSome()
    expect(lines(path)).toBeGreaterThan(0)
  })
  await until(() => expect(lines(path) + lines(old)).toBe(asked))
  expect(await running.metric('quicklink_log_dropped_total')).toBe(0)
})

test('the last line of a worker that nobody could help gets out', async () => {
  const running = await startReady()
  await get(running, '/wrong').catch(() => undefined)
  await until(() => expect(running.output()).toContain('nobody catches this'))
  expect(running.output().match(/a mistake that nobody caught/g)).toHaveLength(1)
})

test('a log file that cannot be opened: one sentence that names the variable', async () => {
  const running = await start({ LOG_FILE: join(folder(), 'no', 'such', 'folder') })
  expect(await running.ended).toBe(1)
  expect(running.output()).toMatch(/^LOG_FILE names .*, which cannot be opened \(ENOENT\)\.$/m)
})
