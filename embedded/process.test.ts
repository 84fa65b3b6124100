import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { waitFor } from './wait.ts'
import { daemon, launch } from './daemon.ts'
import { makeSymlinks } from './postgres-binaries.ts'
import { commandLine, freePort, isOurs, portProblem } from './process.ts'

/** Its state begins with T: by `ps`, which also knows systems without /proc. */
const isPaused = (pid = 0): boolean =>
  execFileSync('ps', ['-p', String(pid), '-o', 'stat='], { encoding: 'utf8' }).startsWith('T')

const releases: (() => void)[] = []
afterEach(() => {
  for (const release of releases.splice(0)) release()
})

/** A child of the test's own, that has its word. */
function spawned(code: string, word: string, ...signals: [NodeJS.Signals, number][]) {
  const child = spawn(process.execPath, ['-e', code, word])
  releases.push(() => child.kill('SIGKILL'))
  return { child, ours: daemon({ pid: () => child.pid, word, signals }) }
}

test('a process is ours only while it lives and its command line says so', async () => {
  const { child, ours } = spawned('setInterval(() => {}, 1000)', 'word-of-ours', ['SIGTERM', 5000])
  expect(isOurs(child.pid, 'word-of-ours')).toBe(true)
  expect(isOurs(child.pid, 'word-of-others')).toBe(false)
  expect(await ours.stop()).toBe('stopped')
  expect(isOurs(child.pid, 'word-of-ours')).toBe(false)
  await waitFor(() => child.signalCode === 'SIGTERM')
})

test('a process that belongs to somebody else gets no signal', async () => {
  const strange = daemon({ pid: () => process.pid, word: 'word-of-ours', signals: [['SIGKILL', 1000]] })
  expect(await strange.stop()).toBe('was not running')
})

test('one that ignores the polite signal gets the next', async () => {
  const deaf = 'process.on("SIGTERM", () => {}); console.log(1); setInterval(() => {}, 1e3)'
  const { child, ours } = spawned(deaf, 'deaf', ['SIGTERM', 200])
  await new Promise((resolve) => child.stdout.once('data', resolve))
  expect(await ours.stop()).toBe('stopped')
  await waitFor(() => child.signalCode === 'SIGKILL')
})

test('one that is paused is woken to end in its own way', async () => {
  const { child, ours } = spawned('setInterval(() => {}, 1000)', 'word-of-paused', ['SIGTERM', 60_000])
  await ours.pause()
  await waitFor(() => isPaused(child.pid))
  expect(await ours.stop()).toBe('stopped')
  await waitFor(() => child.signalCode === 'SIGTERM')
})

test('a daemon is what its pid and its word say: paused, resumed and killed, and a stranger with its pid is not touched', async () => {
  const { child, ours } = spawned('setInterval(() => console.log(1), 5)', 'word-of-daemon')
  let heard = 0
  child.stdout.on('data', () => heard++)
  await waitFor(() => heard > 0)
  expect(ours.pid()).toBe(child.pid)
  await ours.pause()
  await waitFor(() => isPaused(child.pid))
  await ours.resume()
  await waitFor(() => !isPaused(child.pid))
  const stranger = daemon({ pid: () => process.pid, word: 'word-of-daemon', signals: [] })
  expect(stranger.pid()).toBeUndefined()
  await stranger.kill()
  expect(await stranger.stop()).toBe('was not running')
  await ours.kill()
  expect(await ours.stop()).toBe('was not running')
})

describe('a program that is launched', () => {
  const launched = (
    code: string,
    more: { ready: () => boolean; deadlineMs: number; begun?: (pid: number) => void },
  ) => {
    const dir = mkdtempSync(join(tmpdir(), 'quicklink-launch-'))
    releases.push(() => rmSync(dir, { recursive: true }))
    const how = { name: 'It', file: process.execPath, args: ['-e', code], cwd: dir, env: {}, detached: false }
    return launch({ ...how, logFile: join(dir, 'log'), ...more })
  }

  test('is not waited for when it ends before it is ready, and its last words are told', async () => {
    const ended = launched('console.log("last words"); process.exit(3)', { ready: () => false, deadlineMs: 60_000 })
    await expect(ended).rejects.toThrow(/^It ended \(exit code 3\)\. The end of [^]*\nlast words$/)
  })

  test('is not left behind when nobody could write down its pid', async () => {
    let pid = 0
    const begun = (its: number): never => {
      pid = its
      throw new Error('no space left on device')
    }
    const how = { ready: () => true, deadlineMs: 60_000, begun }
    await expect(launched('setInterval(() => {}, 1000)', how)).rejects.toThrow('no space left')
    await waitFor(() => commandLine(pid) === '')
  })

  test('is not left behind when it is not ready in time', async () => {
    let pid = 0
    const begun = (its: number): void => void (pid = its)
    const late = { ready: () => false, deadlineMs: 200, begun }
    await expect(launched('setInterval(() => {}, 1000)', late)).rejects.toThrow('It was not ready after 0.2 s')
    expect(commandLine(pid)).toBe('')
  })
})

test('a taken port is seen, and another one is found below the range of outgoing connections', async () => {
  const port = await freePort()
  expect(port).toBeLessThan(32_768)
  const server = createServer()
  releases.push(() => server.close())
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  expect(await portProblem(port, '127.0.0.1')).toBe('EADDRINUSE')
  expect(await portProblem(port, '0.0.0.0')).toBe('EADDRINUSE')
  expect(await freePort(port)).not.toBe(port)
})

test('symlinks that npm did not make are made, and those it made are left', () => {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-links-'))
  releases.push(() => rmSync(dir, { recursive: true }))
  mkdirSync(join(dir, 'native', 'lib'), { recursive: true })
  const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so' }]
  writeFileSync(join(dir, 'native', 'pg-symlinks.json'), JSON.stringify(links))
  makeSymlinks(join(dir, 'native'))
  makeSymlinks(join(dir, 'native'))
  expect(readlinkSync(join(dir, 'native', 'lib', 'libpq.so'))).toBe('libpq.so.5.18')
})
