import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { alone } from './lock.ts'
import { type Places, placesIn, projectDir } from './paths.ts'

let places: Places
beforeEach(() => (places = placesIn(mkdtempSync(join(tmpdir(), 'quicklink-lock-')))))
afterEach(() => rmSync(places.dataDir, { recursive: true }))

/** Started by a relative name, as npm starts `make up`. */
async function holder(): Promise<ChildProcess> {
  const program = `
    import { alone } from '${projectDir}/embedded/lock.ts'
    import { rmSync, writeFileSync } from 'node:fs'
    import { placesIn } from '${projectDir}/embedded/paths.ts'
    await alone(placesIn('${places.dataDir}'), async () => {
      writeFileSync('inside', '')
      console.log('alone')
      await new Promise((resolve) => process.stdin.once('end', resolve).resume())
      rmSync('inside')
    })`
  writeFileSync(join(places.dataDir, 'holder.ts'), program)
  const child = spawn(process.execPath, ['holder.ts'], { cwd: places.dataDir, stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  return child
}

test('while a start is under way another one waits for it, and the impatient is refused', async () => {
  const first = await holder()
  const nothing = (): Promise<void> => Promise.resolve()
  await expect(alone(places, nothing)).rejects.toThrow('Another `make up` is under way here')
  let together = true
  const look = (): Promise<void> => Promise.resolve(void (together = existsSync(join(places.dataDir, 'inside'))))
  const second = alone(places, look, 20_000)
  first.stdin?.end()
  await second
  expect(together).toBe(false)
  expect(existsSync(places.lockFile)).toBe(false)
})

test("the lock of whoever was killed is nobody's, also for the keeper, who does not wait", async () => {
  const first = await holder()
  first.kill('SIGKILL')
  await once(first, 'exit')
  let done = false
  await alone(places, () => Promise.resolve(void (done = true)))
  expect(done).toBe(true)
})
