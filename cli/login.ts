import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { quickLink } from '../clients/typescript/client.ts'
import { Complaint } from './output.ts'
import { saveProfile } from './profile.ts'
import { sayOf } from './session.ts'

/** Not as an argument, which everybody on the machine can read. Typed, it is not shown. */
async function readKey(): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const isTyped = process.stdin.isTTY
  const lines = createInterface({ input: process.stdin, output: isTyped ? silent : undefined, terminal: isTyped })
  if (isTyped) process.stderr.write('Key (it is not shown): ')
  try {
    for await (const line of lines) return line.trim()
    return ''
  } finally {
    lines.close()
    if (isTyped) process.stderr.write('\n')
  }
}

export function addLogin(program: Command): void {
  program
    .command('login <url>')
    .description('remember a server and your key, which is read from the standard input')
    .action(async (url: string, _: unknown, command: Command) => {
      if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new Complaint(`${url} is no URL: quicklink login https://go.example.org`, 2)
      const key = await readKey()
      if (!/^[\x21-\x7e]{1,200}$/.test(key)) throw new Complaint('No key was given: quicklink login URL <file-with-the-key', 2)
      const { origin } = new URL(url)
      const { profile = 'default' } = command.optsWithGlobals<{ profile?: string }>()
      await sayOf(origin, false).answer(quickLink({ url: origin, key }).GET('/limits'))
      console.log(`Remembered as ${profile} in ${saveProfile(process.env, profile, { url: origin, key })}.`)
    }) // prettier-ignore
}
