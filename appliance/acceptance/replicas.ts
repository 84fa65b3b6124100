// Two replicas behind the proxy.
import { setTimeout as sleep } from 'node:timers/promises'
import { composed } from '../compose.ts'
import { load } from './load.ts'
import { make, redirects, replicated } from './stand.ts'
import { check, step } from './steps.ts'

async function replaced(codes: readonly string[]): Promise<string> {
  // Another commit makes another image.
  const env = { ...replicated, COMMIT: 'f'.repeat(40) }
  const running = async (): Promise<string[]> => (await composed(['ps', '-q', 'quicklink'], { env })).trim().split('\n')
  await composed(['up', '-d', '--wait', '--remove-orphans'], { env })
  const before = await running()
  check(before.length === 2, `there are not two replicas: ${before.join(', ')}`)
  await redirects('first', 'https://example.com/first')
  const traffic = load(codes, 100)
  const { code, text } = await make('upgrade', env)
  await sleep(1000)
  const said = await traffic.allRedirected()
  check(code === 0, text)
  const after = await running()
  check(after.length === 2 && !after.some((id) => before.includes(id)), 'they were not replaced')
  return said
}

export const upgrades = (codes: readonly string[]): Promise<void> =>
  step('two replicas behind the proxy are replaced under load, and no redirect fails', () => replaced(codes))
