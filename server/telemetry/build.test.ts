import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { commitOf } from './build.ts'

const env = { PATH: process.env['PATH'], GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b.c', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b.c' } // prettier-ignore
const git = (...args: string[]): string => execFileSync('git', args, { cwd: dir, env, encoding: 'utf8' }).trim()
const head = (...at: string[]): string => git(...at, 'rev-parse', 'HEAD').slice(0, 12)

const dir = mkdtempSync(join(tmpdir(), 'quicklink-build-'))
git('init', '--quiet')
git('commit', '--quiet', '--allow-empty', '--message=one')
afterAll(() => rmSync(dir, { recursive: true }))

test('the commit is that of the checkout, of a worktree too, on a branch or none, packed or not', () => {
  const worktree = join(dir, 'worktree')
  git('worktree', 'add', '--quiet', '-b', 'other', worktree)
  git('-C', worktree, 'commit', '--quiet', '--allow-empty', '--message=two')
  expect(commitOf(dir)).toBe(head())
  expect(commitOf(worktree)).toBe(head('-C', worktree))
  expect(head()).not.toBe(head('-C', worktree))
  git('pack-refs', '--all')
  expect([commitOf(dir), commitOf(worktree)]).toEqual([head(), head('-C', worktree)])
  git('-C', worktree, 'checkout', '--quiet', '--detach')
  expect(commitOf(worktree)).toBe(head('-C', worktree))
})

test('what an image build has left says it; without that and without git it is unknown', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quicklink-build-'))
  expect(commitOf(folder)).toBe('unknown')
  writeFileSync(join(folder, '.commit'), '0123456789abcdef\n')
  expect(commitOf(folder)).toBe('0123456789ab')
  rmSync(folder, { recursive: true })
})
