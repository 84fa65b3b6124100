// Whose a process is, and whose a port. A pid in a file proves nothing: after a crash it may belong to a stranger, so every
// question about one also asks for words of its command line.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { basename } from 'node:path'

/** Empty when there is no such process, or only its zombie. */
export function commandLine(pid: number): string {
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' }).stdout.trim()
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
  } catch {
    return ''
  }
}

/** True when the process lives and its command line has the word: the absolute path of something that only it is given. */
export function isOurs(pid: number | undefined, word: string): pid is number {
  return pid !== undefined && Number.isInteger(pid) && pid > 1 && commandLine(pid).includes(word)
}

/** Of this process: it stands in its command line, however it was started. */
export const programName = basename(process.argv[1] ?? process.execPath)

export function portProblem(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

/**
 * Below the range from which systems draw ports for outgoing connections: nobody gets it by accident, so that a service
 * that goes away for a while finds it free when it comes back.
 */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await portProblem(preferred, '127.0.0.1')) === undefined) return preferred
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if ((await portProblem(port, '127.0.0.1')) === undefined) return port
  }
}
