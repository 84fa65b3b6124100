import { expect, test } from 'vitest'
import { chooseMode, currentMode } from './mode.ts'

const usable = (): Promise<undefined> => Promise.resolve(undefined)
const away = (): Promise<string> => Promise.resolve('no engine answers')
const choose = (
  forced: string | undefined,
  remembered: string | undefined,
  dockerProblem: () => Promise<string | undefined> = usable,
) => chooseMode({ forced, remembered, dockerProblem })

test('the first start takes Docker where it can, else goes without', async () => {
  expect(await choose(undefined, undefined)).toEqual({ mode: 'docker' })
  expect(await choose('', '', away)).toEqual({ mode: 'embedded' })
})

test('a later start stays what it was, whatever Docker says by then', async () => {
  expect(await choose(undefined, 'embedded\n')).toEqual({ mode: 'embedded' })
  expect(await choose(undefined, 'docker\n')).toEqual({ mode: 'docker' })
  await expect(choose(undefined, 'docker\n', away)).rejects.toThrow(/links of this folder are in Docker, but no engine/)
})

test('MODE switches, and says where the links of before are', async () => {
  expect((await choose('docker', 'embedded')).note).toMatch(/MODE=embedded make up` bring them back/)
  expect((await choose('embedded', 'docker', away)).mode).toBe('embedded')
  expect(await choose('docker', 'docker')).toEqual({ mode: 'docker' })
  await expect(choose('docker', undefined, away)).rejects.toThrow('MODE=docker needs Docker, but no engine answers.')
  await expect(choose('podman', undefined)).rejects.toThrow('MODE is podman, but must be docker or embedded.')
})

test('the other commands act on what was started', () => {
  expect(currentMode({ forced: undefined, remembered: 'docker\n' })).toBe('docker')
  expect(currentMode({ forced: 'embedded', remembered: 'docker\n' })).toBe('embedded')
  expect(currentMode({ forced: undefined, remembered: undefined })).toBe('embedded')
})
