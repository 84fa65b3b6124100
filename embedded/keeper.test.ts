import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { handsOff, isHandsOff } from './keeper.ts'
import { placesIn, projectDir } from './paths.ts'

test('the keeper looks away while somebody breaks things on purpose, and no longer than they live', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-keeper-'))
  const places = placesIn(dir)
  expect(isHandsOff(places)).toBe(false)
  const handsOn = handsOff(places)
  expect(isHandsOff(places)).toBe(true)
  handsOn()
  expect(isHandsOff(places)).toBe(false)

  const breaker = `
    import { handsOff } from '${projectDir}/embedded/keeper.ts'
    import { placesIn } from '${projectDir}/embedded/paths.ts'
    handsOff(placesIn('${dir}'))
    console.log('broken')
    setInterval(() => undefined, 1000)`
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module-typescript', '-e', breaker])
  await once(child.stdout, 'data')
  expect(isHandsOff(places)).toBe(true)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isHandsOff(places)).toBe(false)
  rmSync(dir, { recursive: true })
})
