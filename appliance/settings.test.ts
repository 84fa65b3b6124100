import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { placesIn } from '../embedded/paths.ts'
import { asEnv, placesTold, remember, sayWhatComposeLacks, show, told } from './settings.ts'

const dir = mkdtempSync(join(tmpdir(), 'quicklink-settings-'))
afterAll(() => rmSync(dir, { recursive: true }))
const places = placesIn(dir)

/** A start with this environment and this .env, and what it was told. */
function start(env: Record<string, string>, dotenv = ''): Record<string, string> {
  const all = told(env, places, dotenv)
  remember(places, all)
  return asEnv(all)
}

function shown(env: Record<string, string>, dotenv: string): string {
  const lines: string[] = []
  show(told(env, places, dotenv), (line) => lines.push(line))
  return lines.join('\n')
}

test('what was given once holds for the next start, until it is given anew, or given empty', () => {
  expect(start({ PORT: '8090', PUBLIC_URL: 'https://go.example.org' })).toMatchObject({ PORT: '8090' })
  expect(start({})).toEqual({ PORT: '8090', PUBLIC_URL: 'https://go.example.org' })
  expect(start({ PORT: '8091' })).toMatchObject({ PORT: '8091' })
  expect(start({ PORT: '' })).toEqual({ PUBLIC_URL: 'https://go.example.org' })
  expect(start({ PUBLIC_URL: '' })).toEqual({})
})

test('the environment comes before .env, and .env before what was given earlier', () => {
  start({ PORT: '1', HOST: '127.0.0.1', WORKERS: '3' })
  expect(start({ PORT: '3' }, 'PORT=2\nHOST=::1')).toEqual({ PORT: '3', HOST: '::1', WORKERS: '3' })
  start({ PORT: '', HOST: '', WORKERS: '' })
})

test('DATA_DIR in .env is where every command looks', () => {
  expect(placesTold({}, 'DATA_DIR=/srv/links').dataDir).toBe('/srv/links')
  expect(placesTold({ DATA_DIR: '/srv/other' }, 'DATA_DIR=/srv/links').dataDir).toBe('/srv/other')
  expect(placesTold({}, '').dataDir).toBe(placesIn('.quicklink').dataDir)
})

test('a damaged file of settings is named, with what to do', () => {
  writeFileSync(places.settingsFile, '{"PORT": ')
  expect(() => told({}, places)).toThrow('settings.json is damaged: delete it, and give your settings to `make up` once more.')
  rmSync(places.settingsFile)
}) // prettier-ignore

test('a secret is used, but neither remembered nor shown', () => {
  const secret = 'k'.repeat(40)
  expect(start({ OWNER_KEY: secret })).toEqual({ OWNER_KEY: secret })
  expect(start({})).toEqual({})
  expect(shown({ OWNER_KEY: secret }, `CODE_SALT=${secret}`)).not.toContain(secret)
  const direct = `postgres://quicklink:${secret}@db/quicklink`
  expect(told({ DATABASE_DIRECT_URL: direct }, places, '').remembered).toEqual({})
  expect(shown({ DATABASE_DIRECT_URL: direct }, '')).not.toContain(secret)
})

test('a name in .env that nothing reads is named, with the one that may be meant', () => {
  expect(shown({}, 'PROT=8090\nMY_OWN=1\nCOMPOSE_FILE=a.yml\nLINK_TTL_S=60\nBACKUP_KEEP=3')).toContain('.env sets PROT, which nothing reads: is PORT meant?') // prettier-ignore
  expect(told({}, places, 'MY_OWN=1').unknown).toEqual([{ name: 'MY_OWN', meant: undefined }])
  expect(told({}, places, 'COMPOSE_FILE=a.yml\nLINK_TTL_S=60\nBACKUP_KEEP=3').unknown).toEqual([])
})

test('what docker compose alone would not know is said, and what stands in .env is not', () => {
  const lines: string[] = []
  const say = (line: string): void => void lines.push(line)
  sayWhatComposeLacks(told({}, places, 'PORT=8090'), say)
  expect(lines).toEqual([])
  sayWhatComposeLacks(told({ PORT: '8090', HOST: '127.0.0.1', OWNER_KEY: 'x' }, places, 'LINK_TTL_S=60'), say)
  expect(lines.join()).toMatch(/^HOST, PORT are remembered by `make up`; `docker compose up` alone reads \.env/)
})
