// Where things are, and small files that only their owner may read.
import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

/** A reason to stop that one sentence explains; shown without a stack. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

export type Say = (line: string) => void

export const projectDir = resolve(import.meta.dirname, '..')

export type Places = Readonly<ReturnType<typeof placesIn>>

export function placesIn(dataDir: string) {
  const dir = resolve(projectDir, dataDir)
  return {
    dataDir: dir,
    logFile: join(dir, 'quicklink.log'),
    ownerKeyFile: join(dir, 'owner-key'),
    modeFile: join(dir, 'mode'),
    settingsFile: join(dir, 'settings.json'),
    keeperFile: join(dir, 'keeper.json'),
    keeperLogFile: join(dir, 'keeper.log'),
    handsOffFile: join(dir, 'hands-off'),
    lockFile: join(dir, 'up.lock'),
    serverFile: join(dir, 'server.json'),
    databaseUrlFile: join(dir, 'database-url'),
    redisUrlFile: join(dir, 'redis-url'),
    postgresDir: join(dir, 'postgres'),
    postgresFile: join(dir, 'postgres.json'),
    restoringFile: join(dir, 'restoring.json'),
    redisDir: join(dir, 'redis'),
    redisFile: join(dir, 'redis.json'),
    aptLogFile: join(dir, 'apt.log'),
    alertmanagerFile: join(dir, 'alertmanager.yml'),
  }
}

export const shown = (path: string): string => {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}

export function makeDataDir(places: Places): void {
  mkdirSync(places.dataDir, { recursive: true, mode: 0o700 })
  // As root, Postgres runs as another user, who must be able to walk through (not to list); each file guards itself.
  chmodSync(places.dataDir, process.getuid?.() === 0 ? 0o711 : 0o700)
}

/** Whole or not at all, and never readable by others, not even for a moment. */
export function writePrivate(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Of letters that need no quotes anywhere. */
export const newPassword = (): string => randomBytes(24).toString('base64url')

export const writeJson = (path: string, value: unknown): void => {
  writePrivate(path, `${JSON.stringify(value, null, 2)}\n`)
}

/** Undefined when the file is not there; a file that cannot be read is an error. */
export function readJson<T>(path: string): Partial<T> | undefined {
  const text = readText(path)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Partial<T>
  } catch {
    throw new Refusal(`${shown(path)} is damaged: restore it from a backup.`)
  }
}

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function lastLines(path: string, count: number): string {
  const lines = (readText(path) ?? '').trimEnd().split('\n').slice(-count)
  return lines.map((line) => (line.length > 500 ? `${line.slice(0, 500)}…` : line)).join('\n')
}

/** Logs are bounded: old ones are `….1`, `….2`, … True: whoever writes it should open it anew. */
export function rotate(path: string, { maxMb, generations } = { maxMb: 16, generations: 5 }): boolean {
  if (!existsSync(path) || statSync(path).size <= maxMb * 1024 * 1024) return false
  for (let age = generations - 1; age >= 0; age--) {
    const from = age === 0 ? path : `${path}.${age}`
    if (existsSync(from)) renameSync(from, `${path}.${age + 1}`)
  }
  return true
}
