// README's commands, run as they stand there: a document that nobody runs is wrong after a while.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, inject, test } from 'vitest'
import { projectDir } from './paths.ts'
import { freePort } from './process.ts'

const blocks = Array.from(readFileSync(join(projectDir, 'README.md'), 'utf8').matchAll(/```sh\n([^`]*)```/g), ([, text = '']) => text) // prettier-ignore
const blockWith = (word: string): string => blocks.find((text) => text.includes(word)) ?? `README has no ${word}`

/** In the project's folder, at another port. */
async function run(script: string): Promise<string> {
  const here = script.replaceAll('localhost:8080', `localhost:${port}`).replace(/^git clone .*\n/m, '')
  const { stdout } = await promisify(execFile)('bash', ['-euc', here], { cwd: projectDir, env })
  return stdout
}

const answers = (text: string): Record<string, unknown>[] =>
  text.split(/(?<=\})(?=\{)/).map((each) => JSON.parse(each) as Record<string, unknown>)

const port = await freePort()
const ports = { PORT: String(port), OPS_PORT: String(await freePort()), WORKERS: '1' }
const dataDir = join(inject('services').runDir, 'readme-data')
const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: dataDir, MODE: 'embedded', ...ports }
afterAll(() => run('make down'))

test('README starts it, makes a first link, and its calls do what is said of them', async () => {
  expect(await run(blockWith('make up'))).toContain(`QuickLink is running at http://localhost:${port}`)
  const [link] = answers(await run(blockWith('long/address')))
  expect(link).toMatchObject({ url: 'https://example.org/a/long/address', shortUrl: `http://localhost:${port}/${String(link?.['code'])}` }) // prettier-ignore

  const [made, changed, clicks, tenant, key] = answers(await run(blockWith('ql()')))
  expect(made).toMatchObject({ code: 'spring', url: 'https://example.org/spring' })
  expect(changed).toMatchObject({ code: 'spring', url: 'https://example.org/summer' })
  expect(clicks).toMatchObject({ total: 0 })
  expect(tenant).toMatchObject({ id: 'acme', tier: 'standard' })
  expect(key?.['key']).toMatch(/^ql_/)
})
