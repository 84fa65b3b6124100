// Loaded into a worker beside the server (`--import`). Told when a signal asks: the longest stall of its event loop since it
// was last asked, and the bytes that it holds. More samples than QuickLink has by itself, each worker's own.
import { writeFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Gauge, Registry } from 'prom-client'
import type { Probed } from './probe.ts'

const dir = process.env['QL_PROBE_DIR']
const moreSamples = Number(process.env['QL_MORE_SAMPLES'] ?? 0)
if (dir !== undefined) {
  watch(`${dir}/${process.pid}`)
  const more = new Gauge({ name: 'bench_more', help: 'Only for the size', labelNames: ['pid', 'n'], registers: [] })
  for (let n = 0; n < moreSamples; n++) more.set({ pid: process.pid, n }, n)
  // Where QuickLink's own are registered.
  const { registerMetric } = Registry.prototype
  Registry.prototype.registerMetric = function (metric) {
    registerMetric.call(this, metric)
    if ((metric as { name?: string }).name !== 'quicklink_build_info') return
    // Once: the primary's registry has one of that name, too.
    Registry.prototype.registerMetric = registerMetric
    registerMetric.call(this, more)
  }
}

function watch(file: string): void {
  setFlagsFromString('--expose-gc')
  // Only where it is asked for: who has just collected stalls less.
  const collect = process.env['QL_COLLECT'] === 'yes' ? (runInNewContext('gc') as () => void) : undefined
  let [ms, ownMs] = [0, 0]
  let wokeMs = performance.now()
  let worked = process.threadCpuUsage()
  setInterval(() => {
    const nowMs = performance.now()
    const own = process.threadCpuUsage(worked)
    // The timer's own millisecond is in every pause.
    ms = Math.max(ms, nowMs - wokeMs - 1)
    ownMs = Math.max(ownMs, (own.user + own.system) / 1000)
    wokeMs = nowMs
    worked = process.threadCpuUsage()
  }, 1)
  process.on('SIGUSR2', () => {
    collect?.()
    writeFileSync(file, JSON.stringify({ ms, ownMs, heapBytes: process.memoryUsage().heapUsed } satisfies Probed))
    ;[ms, ownMs] = [0, 0]
    wokeMs = performance.now()
    worked = process.threadCpuUsage()
  })
}
