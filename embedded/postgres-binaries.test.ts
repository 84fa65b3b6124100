import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const file = new URL('postgres-binaries.ts', import.meta.url).href

test('two processes that copy the programs at once both have them, and leave one copy', { timeout: 60_000 }, async () => {
  const home = mkdtempSync(join(tmpdir(), 'quicklink-binaries-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  const code = `const { installBinaries } = await import(${JSON.stringify(file)})
    console.log(installBinaries(${JSON.stringify(home)}))`
  const install = async (): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code])
    return stdout.trim()
  }
  const [first, second] = await Promise.all([install(), install()])
  expect(first).toBe(second)
  expect(readdirSync(first)).toContain('postgres')
  expect(readdirSync(home)).toHaveLength(1)
}) // prettier-ignore
