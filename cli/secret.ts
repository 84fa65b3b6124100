// Texts that are nobody's business: typed without being shown, or piped in; never an argument, which everybody on the machine can read.
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** The first line; '' where there is none. `what` is asked for on a terminal. */
export async function readSecret(what: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const isTyped = process.stdin.isTTY
  const lines = createInterface({ input: process.stdin, output: isTyped ? silent : undefined, terminal: isTyped })
  if (isTyped) process.stderr.write(`${what} (it is not shown): `)
  try {
    for await (const line of lines) return line.replace(/\r$/, '')
    return ''
  } finally {
    lines.close()
    if (isTyped) process.stderr.write('\n')
  }
}
