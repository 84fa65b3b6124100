// A thread that wants to run 200 times a second, and says when it could not.
import { parentPort } from 'node:worker_threads'
import { everyMs, worthMs } from './stalls.ts'

let dueMs = performance.now() + everyMs
setInterval(() => {
  const nowMs = performance.now()
  const ms = nowMs - dueMs
  if (ms >= worthMs) parentPort?.postMessage({ fromMs: Date.now() - ms, ms })
  dueMs = nowMs + everyMs
}, everyMs)
