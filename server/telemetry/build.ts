// Which QuickLink this is. The commit comes from the file an image build leaves, else from the checkout.
import { readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)

function read(path: string): string | undefined {
  try {
    return readFileSync(new URL(path, root), 'utf8').trim()
  } catch {
    return undefined
  }
}

function commit(): string {
  const head = read('.commit') ?? read('.git/HEAD') ?? ''
  const ref = /^ref: (refs\/[\w./-]+)$/.exec(head)?.[1]
  const hash = ref === undefined ? head : (read(`.git/${ref}`) ?? packed(ref) ?? '')
  return /^[0-9a-f]{7,64}$/.test(hash) ? hash.slice(0, 12) : 'unknown'
}

function packed(ref: string): string | undefined {
  const line = read('.git/packed-refs')
    ?.split('\n')
    .find((entry) => entry.endsWith(` ${ref}`))
  return line?.split(' ')[0]
}

export interface Build {
  readonly version: string
  readonly commit: string
}

export function readBuild(): Build {
  const { version } = JSON.parse(read('package.json') ?? '{}') as { version?: string }
  return { version: version ?? 'unknown', commit: commit() }
}
