import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { DeadlineExceeded, withDeadline } from './deadline.ts'

/** Another thread, because this one will stand still. It answers each byte, and says so where no event loop is needed. */
const answering = `
const { parentPort, workerData } = require('node:worker_threads')
const server = require('node:net').createServer((socket) => socket.on('error', () => {}).on('data', (data) =>
  socket.write(data, () => { Atomics.store(workerData, 0, 1); Atomics.notify(workerData, 0) })))
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

test('an answer that arrived while this process stood still is in time', async () => {
  const answered = new Int32Array(new SharedArrayBuffer(4))
  const other = new Worker(answering, { eval: true, workerData: answered })
  onTestFinished(async () => void (await other.terminate()))
  const [port] = (await once(other, 'message')) as [number]
  const socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')

  const answer = withDeadline(once(socket, 'data'), 20, 'the other side')
  socket.write('?')
  expect(Atomics.wait(answered, 0, 0, 10_000)).not.toBe('timed-out')
  const untilMs = performance.now() + 40
  while (performance.now() < untilMs);
  await expect(answer).resolves.toBeDefined()
})

test('what does not come in time is rejected by a name', async () => {
  await expect(withDeadline(sleep(5000, undefined, { ref: false }), 10, 'Redis')).rejects.toThrow(
    new DeadlineExceeded('Redis took longer than 10 ms'),
  )
})
