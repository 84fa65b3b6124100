// What whoever runs it does from day to day.
import { createHash } from 'node:crypto'
import { until } from '../../embedded/wait.ts'
import { composed, docker, idsOf, inService } from '../compose.ts'
import { down, make, ownerKey, redirects, secrets } from './stand.ts'
import { check, step } from './steps.ts'

export async function doctor(): Promise<void> {
  await step('`make doctor` is all ok', async () => {
    let last = ''
    const well = async (): Promise<boolean> => {
      const { code, text } = await make('doctor')
      last = text
      return code === 0
    }
    check((await until(well, 60_000, 2000)) && !/^not ok/m.test(last), last)
    return last.trim().split('\n').at(-1)
  })
  await step('`make doctor` names maxmemory-policy when that is changed by hand', async () => {
    const cli = 'REDISCLI_AUTH=$(cat /run/quicklink/operator) redis-cli --user operator'
    const set = (policy: string): Promise<string> =>
      inService('redis', ['sh', '-c', `${cli} config set maxmemory-policy ${policy}`])
    await set('allkeys-lru')
    const { code, text } = await make('doctor')
    await set('volatile-lru')
    const complaints = text.split('\n').filter((line) => line.startsWith('not ok'))
    const [complaint = ''] = complaints
    check(code === 1 && complaints.length === 1, text)
    check(complaint.includes('maxmemory-policy: allkeys-lru, but must be volatile-lru'), text)
    return complaint
  })
}

const fingerprint = async (): Promise<string> =>
  createHash('sha256')
    .update((await secrets()).join())
    .digest('hex')

export async function restarts(): Promise<void> {
  await step('a second `up` changes nothing, and a restart keeps secrets and links', async () => {
    const running = (): Promise<string[]> => idsOf('quicklink', 'redis', 'postgres', 'grafana')
    const [ids, before, key] = [await running(), await fingerprint(), await ownerKey()]
    await composed(['up', '-d', '--wait'])
    check((await running()).join() === ids.join(), 'containers were replaced')
    await down()
    await composed(['up', '-d', '--wait'])
    check((await fingerprint()) === before, 'the secrets are others')
    check((await ownerKey()) === key, 'the owner key is another')
    await redirects('first', 'https://example.com/first')
    return undefined
  })
  await step('a stop is a clean one, within its grace period', async () => {
    const [id = ''] = await idsOf('quicklink')
    const beganMs = performance.now()
    await composed(['stop', 'quicklink'])
    const tookS = (performance.now() - beganMs) / 1000
    const exit = (await docker(['inspect', '-f', '{{.State.ExitCode}}', id])).text.trim()
    check(exit === '0' && tookS < 12, `exit code ${exit} after ${tookS.toFixed(1)} s`)
    await composed(['up', '-d', '--wait'])
    return `exit code 0 after ${tookS.toFixed(1)} s`
  })
}
