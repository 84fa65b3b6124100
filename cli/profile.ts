// Which server is meant, and with which key: the environment, a profile of `quicklink login`, or the QuickLink of this machine.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { Complaint } from './output.ts'

export interface Profile {
  readonly url: string
  readonly key: string
}

type Environment = Readonly<Record<string, string | undefined>>
type Profiles = Readonly<Record<string, Profile>>

export const profilesFile = (env: Environment): string =>
  join(env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config'), 'quicklink', 'profiles.json')

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}

function profilesIn(file: string): Profiles {
  const text = read(file)
  if (text === undefined) return {}
  try {
    return JSON.parse(text) as Profiles
  } catch {
    throw new Complaint(`${file} is damaged: delete it, and log in again.`, 2)
  }
}

/** In a file that only its user can read. */
export function saveProfile(env: Environment, name: string, profile: Profile): string {
  const file = profilesFile(env)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${JSON.stringify({ ...profilesIn(file), [name]: profile }, null, 2)}\n`, { mode: 0o600 })
  chmodSync(file, 0o600)
  return file
}

/** Of `make up` in this folder, or of the container that this runs in. */
function local(env: Environment): Profile | undefined {
  const dir = resolve(import.meta.dirname, '..', env['DATA_DIR'] || '.quicklink')
  const key = env['OWNER_KEY'] ?? read(env['OWNER_KEY_FILE'] ?? join(dir, 'owner-key'))
  if (!key) return undefined
  const file = join(dir, 'server.json')
  const { localUrl } = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { localUrl?: string }) : {}
  return { key, url: localUrl ?? `http://localhost:${env['PORT'] || 8080}` }
}

export function findProfile(env: Environment, name: string | undefined): Profile {
  const { QUICKLINK_URL: url, QUICKLINK_KEY: key } = env
  const profiles = profilesIn(profilesFile(env))
  if (name !== undefined) {
    const named = profiles[name]
    if (named) return named
    const known = Object.keys(profiles).join(', ') || 'none yet'
    throw new Complaint(`There is no profile ${name} (there are: ${known}): quicklink login --profile ${name} URL`, 2)
  }
  const found = profiles['default'] ?? local(env)
  if (key) return { key, url: url ?? found?.url ?? 'http://localhost:8080' }
  if (url !== undefined) throw new Complaint('QUICKLINK_URL is set without a key: set QUICKLINK_KEY, too.', 2)
  if (found) return found
  throw new Complaint('Which QuickLink? quicklink login URL, or set QUICKLINK_URL and QUICKLINK_KEY.', 2)
}
