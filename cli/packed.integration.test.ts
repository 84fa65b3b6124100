// The packages as npm would have them: packed, and installed into an empty folder without a network.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'

const root = new URL('..', import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), 'quicklink-packed-'))
afterAll(() => {
  for (const made of [folder, join(root, 'cli/dist'), join(root, 'clients/typescript/dist')]) {
    rmSync(made, { recursive: true, force: true })
  }
})

const run = async (command: string, args: readonly string[], cwd: string): Promise<string> =>
  (await promisify(execFile)(command, [...args], { cwd })).stdout

/** Of the system, which may be older than ours: this one runs what npm has installed. */
const systemsPath = process.env['PATH']!.split(':').filter((dir) => !dir.includes('node_modules')).join(':') // prettier-ignore
const bySystem = async (command: string): Promise<string> =>
  (await promisify(execFile)('sh', ['-c', command], { cwd: join(folder, 'empty'), env: { PATH: systemsPath } })).stdout

const dependencies = ['commander', 'openapi-fetch', 'openapi-typescript-helpers', 'qr']

// Two builds by tsc, and npm: some seconds on a machine with nothing else to do.
const empty = join(folder, 'empty')
mkdirSync(empty)
const to = ['--silent', '--pack-destination', folder]
await run('npm', ['pack', ...to, './cli', './clients/typescript'], root)
// What the registry would send. Nothing of it is built here.
await run('npm', ['pack', ...to, '--ignore-scripts', ...dependencies.map((name) => `./node_modules/${name}`)], root)
const packed = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
expect(packed).toHaveLength(2 + dependencies.length)
const quietly = ['--offline', '--no-audit', '--no-fund', '--silent']
await run('npm', ['install', ...quietly, ...packed.map((name) => join(folder, name))], empty)

test('the command line runs on the Node of the system, 20 or newer', async () => {
  expect(await bySystem('node_modules/.bin/quicklink --help')).toContain('Usage: quicklink [options] [command]')
  const refused = bySystem('HOME=/nonexistent QUICKLINK_URL=http://127.0.0.1:9 QUICKLINK_KEY=k node_modules/.bin/quicklink limits')
  await expect(refused).rejects.toMatchObject({ code: 3, stderr: expect.stringContaining('Nobody answers') as string })
}) // prettier-ignore

test('the client is a module with types', async () => {
  const program = `import { quickLink } from 'quicklink-client'; console.log(typeof quickLink({ url: 'http://a', key: 'k' }).GET)`
  expect(await bySystem(`node --input-type=module -e "${program}"`)).toBe('function\n')
  expect(readdirSync(join(folder, 'empty/node_modules/quicklink-client/dist'))).toContain('client.d.ts')
})
