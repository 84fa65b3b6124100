import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Places, Refusal, projectDir, shown } from './paths.ts'

/** Follows the log until Ctrl-C: readable on a terminal, JSON lines as they are for another program. */
export async function logs(places: Places): Promise<void> {
  // One that has just been rotated away is begun anew within a second: `tail -F` waits for it.
  const isThere = [places.logFile, `${places.logFile}.1`].some((file) => existsSync(file))
  if (!isThere) throw new Refusal(`There is no ${shown(places.logFile)} yet: run \`make up\`.`)
  const pretty = process.stdout.isTTY
  const tail = spawn('tail', ['-n', '200', '-F', places.logFile], {
    stdio: ['ignore', pretty ? 'pipe' : 'inherit', 'ignore'],
  })
  // The programs get Ctrl-C too; ending with them, quietly, is all there is to do.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => tail.kill())
  if (pretty) {
    const reader = spawn(join(projectDir, 'node_modules', '.bin', 'pino-pretty'), [], {
      stdio: ['pipe', 'inherit', 'inherit'],
    })
    tail.stdout?.pipe(reader.stdin)
    reader.once('exit', () => tail.kill())
  }
  await new Promise((resolve) => tail.once('exit', resolve))
}
