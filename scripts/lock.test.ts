import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, { integrity?: string; resolved?: string }>
}

test('npm ci can tell a changed package: each has its hash in the lock file, and none an address', () => {
  const installed = Object.entries(packages).filter(([place]) => place !== '')
  expect(installed.length).toBeGreaterThan(500)
  const bare = installed.filter(([, { integrity = '', resolved }]) => !integrity.startsWith('sha512-') || resolved)
  const advice = '`npm run lock` asks the registry for hashes that are missing, and takes addresses out'
  expect(bare.map(([place]) => place), advice).toEqual([]) // prettier-ignore
})
