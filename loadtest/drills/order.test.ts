import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { drills } from './all.ts'
import { orderIn } from './order.ts'

const refused = (env: NodeJS.ProcessEnv) => expect(() => orderIn(env))
const all = drills.map(({ name }) => name).join(', ')

test('what is misspelt is named, with the choices', () => {
  refused({}).toThrow(`Say which drill: NAME=… make drill. There are: ${all}.`)
  refused({ NAME: 'redis-refuse' }).toThrow(`There is no drill redis-refuse: NAME=… make drill takes ${all}.`)
  refused({ NAME: 'game-day', ONLY: 'foo' }).toThrow(`There is no drill foo: ONLY=… make game-day takes ${all}.`)
  refused({ NAME: 'stampede', ONLY: 'hot-key' }).toThrow('ONLY is for game days')
  const named = { NAME: 'redis-refused' }
  refused({ ...named, RATE: 'abc' }).toThrow('RATE is abc, but must be a whole number from 10 to 2000 (requests a second).')
  refused({ ...named, RATE: '9' }).toThrow('RATE is 9, but')
  refused({ ...named, FAULT_SECONDS: '-3' }).toThrow('FAULT_SECONDS is -3, but must be a whole number from 1 to 600 (seconds).')
  refused({ ...named, SHORT: 'ja' }).toThrow('SHORT is ja, but must be yes or no.')
  refused({ ...named, MODE: 'podman' }).toThrow('MODE is podman, but must be docker or embedded.')
  refused({ NAME: 'game-day', PAUSE_S: 'lunch' }).toThrow('PAUSE_S is lunch, but')
}) // prettier-ignore

test('RATE and FAULT_SECONDS are for drills that are not about theirs', () => {
  expect(orderIn({ NAME: 'redis-refused', RATE: '100', FAULT_SECONDS: '60' })).toMatchObject({ rate: 100, faultSeconds: 60 }) // prettier-ignore
  refused({ NAME: 'hot-key', RATE: '100' }).toThrow('hot-key is about its own rate, 300 requests/s and more: RATE is not for it.') // prettier-ignore
  refused({ NAME: 'worker-hung', FAULT_SECONDS: '60' }).toThrow('worker-hung takes the time that it is about: FAULT_SECONDS is not for it.') // prettier-ignore
  const { chosen, leftOut } = orderIn({ NAME: 'all', FAULT_SECONDS: '60' })
  expect(chosen.map(({ name }) => name)).not.toContain('worker-hung')
  expect(leftOut.join('\n')).toContain('worker-hung takes the time')
})

test('a game day takes its drills by ONLY, and pauses for two minutes at most unless told otherwise', () => {
  const { chosen, gameDay } = orderIn({ NAME: 'game-day', ONLY: 'stampede,hot-key' })
  expect(chosen.map(({ name }) => name)).toEqual(['stampede', 'hot-key'])
  expect(gameDay).toEqual({ longestPauseS: 120 })
  expect(orderIn({ NAME: 'game-day', PAUSE_S: '0' }).gameDay).toEqual({ longestPauseS: 0 })
  expect(orderIn({ NAME: 'stampede' }).gameDay).toBeUndefined()
})

/** As a person sees it. */
const command = (file: string, env: NodeJS.ProcessEnv): Promise<{ code: number | null; text: string }> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, ['--no-warnings', join(import.meta.dirname, file)], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
    child.once('close', (code) => resolve({ code, text }))
  })

test.each([
  ['run.ts', { NAME: 'redis-refused', RATE: 'abc' }, /^RATE is abc, but must be .*\.\n$/],
  ['can-fail.ts', { NAME: 'stampeed' }, /^There is no drill stampeed: .*\.\n$/],
  ['../load/load.ts', { NAME: 'steady', RATE: 'abc' }, /^RATE is abc, but must be .*\.\n$/],
  ['../load/load.ts', { NAME: 'stedy' }, /^There is no load test stedy: NAME=… make load takes steady, .*\.\n$/],
  ['../load/load.ts', { NAME: 'steady', SECONDS: '0' }, /^SECONDS is 0, but must be .*\.\n$/],
  ['../load/load.ts', { NAME: 'steady', DATASET: 'many' }, /^DATASET is many, but must be .*\.\n$/],
])('%s with %o says one sentence and ends with 2', async (file, env, sentence) => {
  const { code, text } = await command(file, env)
  expect(text).toMatch(sentence)
  expect(code).toBe(2)
})
