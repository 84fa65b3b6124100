// Loaded into a worker beside the server (`--import`): the longest stall of its event loop, told when a signal asks, and
// more samples than QuickLink has by itself, each worker's its own.
import { writeFileSync } from 'node:fs'
import { Gauge, Registry } from 'prom-client'

/** Of one worker since it was last asked. */
export interface Stall {
  readonly ms: number
  /** What its thread worked in the stall in which it worked most: the rest of a stall is waiting for a core. */
  readonly ownMs: number
}

const dir = process.env['QL_STALL_DIR']
if (dir !== undefined) {
  watch(`${dir}/${process.pid}`)
  const more = new Gauge({ name: 'bench_more', help: 'Only for the size', labelNames: ['pid', 'n'], registers: [] })
  for (let n = 0; n < Number(process.env['QL_MORE_SAMPLES']); n++) more.set({ pid: process.pid, n }, n)
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
  let worst: Stall = { ms: 0, ownMs: 0 }
  let wokeMs = performance.now()
  let worked = process.threadCpuUsage()
  setInterval(() => {
    const nowMs = performance.now()
    const own = process.threadCpuUsage(worked)
    const ownMs = (own.user + own.system) / 1000
    // The timer's own millisecond is in every pause.
    worst = { ms: Math.max(worst.ms, nowMs - wokeMs - 1), ownMs: Math.max(worst.ownMs, ownMs) }
    wokeMs = nowMs
    worked = process.threadCpuUsage()
  }, 1)
  process.on('SIGUSR2', () => {
    writeFileSync(file, JSON.stringify(worst))
    worst = { ms: 0, ownMs: 0 }
  })
}
