import { rmSync, writeFileSync } from 'node:fs'
import { type Places, Refusal, readText } from './paths.ts'
import { isOurs } from './process.ts'
import { until } from './wait.ts'

/** Two starts at the same time would each start the services. */
export async function alone(places: Places, work: () => Promise<void>, patienceMs = 0): Promise<void> {
  for (;;) {
    try {
      writeFileSync(places.lockFile, String(process.pid), { flag: 'wx', mode: 0o600 })
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const holder = Number(readText(places.lockFile))
    // The keeper may hold it for a moment.
    if (!(await until(() => !isOurs(holder, import.meta.dirname), patienceMs))) {
      throw new Refusal('Another `make up` is under way here: wait for it.')
    }
    if (Number(readText(places.lockFile)) === holder) rmSync(places.lockFile, { force: true })
  }
  try {
    await work()
  } finally {
    rmSync(places.lockFile, { force: true })
  }
}
