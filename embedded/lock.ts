import { linkSync, rmSync } from 'node:fs'
import { type Places, Refusal, readText, writePrivate } from './paths.ts'
import { isOurs, programName } from './process.ts'
import { until } from './wait.ts'

/** Two starts at the same time would each start the services. */
export async function alone(places: Places, work: () => Promise<void>, patienceMs = 0): Promise<void> {
  const { lockFile } = places
  const ours = `${process.pid} ${programName}`
  while (!taken(lockFile, ours)) {
    const theirs = readText(lockFile)
    // The keeper may hold it for a moment.
    const isFree = (): boolean => readText(lockFile) !== theirs || !isHeld(theirs)
    if (!isFree() && !(await until(isFree, patienceMs))) {
      throw new Refusal('Another `make up` is under way here: wait for it.')
    }
    if (!isHeld(theirs) && readText(lockFile) === theirs) rmSync(lockFile, { force: true })
  }
  try {
    await work()
  } finally {
    if (readText(lockFile) === ours) rmSync(lockFile, { force: true })
  }
}

/** With its holder in it from the first moment: an empty one would look like one that nobody holds. */
function taken(lockFile: string, ours: string): boolean {
  const made = `${lockFile}.${process.pid}`
  writePrivate(made, ours)
  try {
    linkSync(made, lockFile)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(made, { force: true })
  }
}

/** Whoever wrote it lives. */
function isHeld(text: string | undefined): boolean {
  const [, pid, word] = /^(\d+) (.+)$/.exec(text ?? '') ?? []
  return word !== undefined && isOurs(Number(pid), word)
}
