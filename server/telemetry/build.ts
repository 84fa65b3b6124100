// Which QuickLink this is. The commit comes from the file an image build leaves, else from the checkout.
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

function read(...path: string[]): string | undefined {
  try {
    return readFileSync(join(...path), 'utf8').trim()
  } catch {
    return undefined
  }
}

export function commitOf(folder: string): string {
  // In a worktree a file says where the rest is, and another one there, where the branches are.
  const elsewhere = /^gitdir: (.+)$/.exec(read(folder, '.git') ?? '')?.[1]
  const git = resolve(folder, elsewhere ?? '.git')
  const common = resolve(git, read(git, 'commondir') ?? '.')
  const head = read(folder, '.commit') ?? read(git, 'HEAD') ?? ''
  const ref = /^ref: (refs\/[\w./-]+)$/.exec(head)?.[1]
  const hash = ref === undefined ? head : (read(common, ref) ?? packed(common, ref) ?? '')
  return /^[0-9a-f]{7,64}$/.test(hash) ? hash.slice(0, 12) : 'unknown'
}

function packed(git: string, ref: string): string | undefined {
  const line = read(git, 'packed-refs')
    ?.split('\n')
    .find((entry) => entry.endsWith(` ${ref}`))
  return line?.split(' ')[0]
}

export interface Build {
  readonly version: string
  readonly commit: string
}

export function readBuild(): Build {
  const { version } = JSON.parse(read(root, 'package.json') ?? '{}') as { version?: string }
  return { version: version ?? 'unknown', commit: commitOf(root) }
}
