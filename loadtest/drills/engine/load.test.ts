import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { waitFor } from '../../../embedded/wait.ts'
import { startLoad, type LoadOrder } from './load.ts'

const order: LoadOrder = { url: 'http://127.0.0.1:9', rate: 10, connections: 16, timeoutMs: 1000, groups: [{ name: 'a', share: 1, prefix: 'load-test-', count: 1, pick: 'uniform' }] } // prettier-ignore

test('a load that ends by itself is a doubt, and may be told to stop all the same', async () => {
  const load = startLoad({ ...order, url: 'nowhere' })
  await waitFor(() => load.problem() !== undefined, { deadlineMs: 10_000 })
  expect(load.problem()).toMatch(/^The load ended by itself \(exit code 1\)/)
  await Promise.all([load.stop(), load.stop()])
})

test('a load that was told to stop has ended, also who says so twice, and nothing is wrong', async () => {
  const load = startLoad(order)
  await waitFor(() => load.answers.length > 0, { deadlineMs: 10_000 })
  await Promise.all([load.stop(), load.stop()])
  expect(load.problem()).toBeUndefined()
  expect(execFileSync('ps', ['-axww', '-o', 'args='], { encoding: 'utf8' })).not.toMatch(/load-run\.ts .*load-test-/)
})
