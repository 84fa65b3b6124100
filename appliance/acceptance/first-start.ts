// From nothing to a first link, twice.
import { compose, composed, docker } from '../compose.ts'
import { createLink, down, leftOver, ownerKey, redirects, up } from './stand.ts'
import { check, step } from './steps.ts'

interface Image {
  readonly Id: string
  readonly Size: number
  readonly Config: { readonly User: string }
}

async function imageBuilds(): Promise<string> {
  const inspected = async (): Promise<Image> =>
    (JSON.parse((await docker(['image', 'inspect', 'quicklink'])).text) as [Image])[0]
  await composed(['build', 'quicklink'])
  const { Id, Size, Config } = await inspected()
  const again = await compose(['--progress', 'plain', 'build', 'quicklink'])
  const said = `${again.text}${again.errors}`
  const numbers = (pattern: RegExp): (string | undefined)[] =>
    Array.from(said.matchAll(pattern), ([, number]) => number)
  const steps = numbers(/^#(\d+) \[.*\] (?:RUN|COPY)/gm)
  const cached = new Set(numbers(/^#(\d+) CACHED/gm))
  check(steps.length > 5 && steps.every((number) => cached.has(number)), `not cached: ${said}`)
  check((await inspected()).Id === Id, 'the second build made another image')
  check(Size < 250e6, `${(Size / 1e6).toFixed(0)} MB`)
  check(!['', '0', 'root'].includes(Config.User.split(':')[0] ?? ''), 'its user is root')
  return `${(Size / 1e6).toFixed(0)} MB`
}

/** The promise is about a machine that does nothing else, as in CI. */
async function upInTime(): Promise<string> {
  const beganMs = performance.now()
  const said = await up()
  check(performance.now() - beganMs < 60_000 || process.env['CI'] === undefined, said)
  return said
}

export async function firstStart(): Promise<void> {
  await step('the image builds, is below 250 MB, and a second build is all cache hits', imageBuilds)
  await step('`docker compose up` brings everything from nothing', upInTime)
  await step('`down -v` removes everything, and `up` begins again', async () => {
    await down('-v')
    const left = await leftOver()
    check(left.length === 0, `left: ${left.join(', ')}`)
    return upInTime()
  })
  await step('a first link redirects', async () => {
    check(/^\S{32,}$/.test(await ownerKey()), 'there is no owner key')
    await redirects(await createLink('https://example.com/first', 'first'), 'https://example.com/first')
    return undefined
  })
}
