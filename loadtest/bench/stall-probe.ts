// Loaded into a worker beside the server (`--import`): the longest stall of its event loop, asked for by a signal, and
// more samples than QuickLink has by itself, each worker's its own.
import { appendFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Gauge, Registry } from 'prom-client'

const file = process.env['QL_STALL_FILE']
if (file !== undefined) {
  // Its timer has a period of 1 ms, which every delay that it measures contains.
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  process.on('SIGUSR2', () => {
    appendFileSync(file, `${process.pid} ${delay.max / 1e6 - 1}\n`)
    delay.reset()
  })
  const more = new Gauge({
    name: 'bench_more',
    help: 'Only for the size of it',
    labelNames: ['pid', 'n'],
    registers: [],
  })
  for (let n = 0; n < Number(process.env['QL_MORE_SAMPLES']); n++) more.set({ pid: process.pid, n }, n)
  const { getMetricsAsArray } = Registry.prototype
  Registry.prototype.getMetricsAsArray = function () {
    return [...getMetricsAsArray.call(this), more] as unknown as ReturnType<typeof getMetricsAsArray>
  }
}
