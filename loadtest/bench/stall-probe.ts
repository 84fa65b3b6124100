// Loaded into a worker beside the server (`--import`): the longest stall of its event loop, asked for by a signal.
import { appendFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const file = process.env['QL_STALL_FILE']
if (file !== undefined) {
  // Its timer has a period of 1 ms, which every delay that it measures contains.
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  process.on('SIGUSR2', () => {
    appendFileSync(file, `${process.pid} ${delay.max / 1e6 - 1}\n`)
    delay.reset()
  })
}
