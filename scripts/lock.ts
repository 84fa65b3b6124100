// Gives every package in package-lock.json the hash that the registry names for its version, and takes addresses out.
// `npm run lock`, after packages were added: npm writes no hash for what it found installed. Hashes that are there stay,
// because `npm ci` compares each package with its hash, and one that is asked for anew would compare with nothing.
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'

interface Entry {
  readonly name?: string
  readonly version: string
  readonly integrity?: string
  readonly resolved?: string
}

const path = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, Entry> }
const entries = Object.entries(lock.packages).map(([place, { resolved: _, ...entry }]) => [place, entry] as const)
const missing = entries.filter(([place, { integrity }]) => place !== '' && !integrity)
lock.packages = Object.fromEntries(entries)

async function ask([place, { name, version, ...rest }]: readonly [string, Entry]): Promise<void> {
  // An entry has a name of its own where the package is installed under another one.
  const id = `${name ?? place.replace(/^.*node_modules\//, '')}@${version}`
  const { stdout } = await promisify(execFile)('npm', ['view', id, 'dist.integrity', '--loglevel=error'])
  const integrity = stdout.trim()
  if (!integrity.startsWith('sha512-')) throw new Error(`The registry names no sha512 for ${id}`)
  lock.packages[place] = { ...(name ? { name } : {}), version, integrity, ...rest }
}

const waiting = [...missing]
async function lane(): Promise<void> {
  for (let next = waiting.shift(); next; next = waiting.shift()) await ask(next)
}
await Promise.all(Array.from({ length: 4 }, lane))
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${missing.length} hashes added, ${entries.length - 1} packages`)
