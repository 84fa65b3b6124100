// The thread that hashes. Its messages are one at a time: the next one comes when this one is answered. Nobody imports more of
// it than types: what runs here would run in the process that redirects.
import { scryptSync } from 'node:crypto'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

export interface Hashing {
  readonly password: string
  readonly salt: Uint8Array
  readonly log2N: number
  readonly r: number
  readonly p: number
  readonly bytes: number
}

// On Linux a thread has a priority of its own: visitors who only follow a link come first. Not the lowest: on a machine that is
// busy all the time, it would wait for seconds.
if (process.platform === 'linux') setPriority(10)

parentPort?.on('message', ({ password, salt, log2N, r, p, bytes }: Hashing) => {
  const N = 2 ** log2N
  parentPort?.postMessage(scryptSync(password, salt, bytes, { N, r, p, maxmem: 256 * N * r }))
})
