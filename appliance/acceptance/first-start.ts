// From nothing to a first link, twice.
import { expect, test } from 'vitest'
import { compose, composed, docker } from '../compose.ts'
import { createLink, down, leftOver, ownerKey, redirects } from './stand.ts'

interface Image {
  readonly Id: string
  readonly Size: number
  readonly Config: { readonly User: string }
}

let started = false
export const hasStarted = (): boolean => started

/** The promise is about a machine that does nothing else, as in CI. */
async function upInTime(): Promise<void> {
  const beganMs = performance.now()
  await composed(['up', '-d', '--wait'])
  if (process.env['CI'] !== undefined) expect(performance.now() - beganMs).toBeLessThan(60_000)
}

export function firstStart(): void {
  test('the image builds, is below 250 MB, and a second build is all cache hits', async () => {
    const inspected = async (): Promise<Image> =>
      (JSON.parse((await docker(['image', 'inspect', 'quicklink'])).text) as [Image])[0]
    await composed(['build', 'quicklink'])
    const { Id, Size, Config } = await inspected()
    const again = await compose(['--progress', 'plain', 'build', 'quicklink'])
    const said = `${again.text}${again.errors}`
    const numbers = (pattern: RegExp) => Array.from(said.matchAll(pattern), ([, number]) => number)
    const steps = numbers(/^#(\d+) \[.*\] (?:RUN|COPY)/gm)
    expect(steps.length, said).toBeGreaterThan(5)
    expect(numbers(/^#(\d+) CACHED/gm), said).toEqual(expect.arrayContaining(steps))
    expect((await inspected()).Id, 'the second build made another image').toBe(Id)
    expect(Size).toBeLessThan(250e6)
    expect(Config.User).toMatch(/^(?!0|root)[^:]+/)
  })
  test('`docker compose up` brings everything from nothing', upInTime)
  test('`down -v` removes everything, and `up` begins again', async () => {
    await down('-v')
    expect(await leftOver()).toEqual([])
    await upInTime()
  })
  test('a first link redirects', async () => {
    expect(await ownerKey()).toMatch(/^\S{32,}$/)
    await createLink('https://example.com/first', 'first')
    await redirects('first', 'https://example.com/first')
    started = true
  })
}
