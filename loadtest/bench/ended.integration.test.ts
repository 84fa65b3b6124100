import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'

const inGroup = (group: number): number =>
  spawnSync('ps', ['-eo', 'pgid='], { encoding: 'utf8' }).stdout.split('\n').filter((line) => Number(line) === group).length // prettier-ignore

/** Its next line comes soon. */
const command = `env ONLY=raw ${process.execPath} loadtest/bench/bench.ts`

test.each([
  ['its reader goes away', `${command} | head -n 1`, undefined],
  ['somebody presses Ctrl-C', `exec ${command}`, 'SIGINT'],
  ['it is killed', `exec ${command}`, 'SIGKILL'],
] as const)(
  'a bench ends all that it has started when %s, without a stack',
  async (_, line, signal) => {
    const child = spawn('/bin/sh', ['-c', line], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    const group = child.pid as number
    let [said, errors] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
    const closed = once(child, 'close')
    // Postgres, Redis, and some of those that are measured; or its reader was missed before a look at a busy machine.
    await waitFor(() => inGroup(group) > 8 || (signal === undefined && inGroup(group) === 0), { deadlineMs: 120_000 })
    if (signal !== undefined) process.kill(signal === 'SIGINT' ? -group : group, signal)
    // Who has lost its reader learns it with its next line, when all servers have started.
    await waitFor(() => inGroup(group) === 0, { deadlineMs: 120_000 })
    await closed
    expect(said).toMatch(/^Starting the servers/)
    expect(errors).toBe('')
  },
  300_000,
)
