// A link as people meet it: in the browser, and as a QR code.
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import encodeQR from 'qr'
import { Complaint } from './output.ts'
import { sessionOf } from './session.ts'

/** What opens a URL, on each system. No shell reads it. */
const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

function open(url: string): Promise<boolean> {
  const [command, ...args] = openers[process.platform] ?? ['xdg-open']
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}

const levels = { L: 'low', M: 'medium', Q: 'quartile', H: 'high' } as const

/** Black on white, whatever the colours of the terminal are. */
function forTerminal(url: string, ecc: (typeof levels)['L' | 'M' | 'Q' | 'H']): string {
  const lines = encodeQR(url, 'ascii', { ecc, border: 2 }).trimEnd().split('\n')
  return lines.map((line) => (process.stdout.isTTY ? `\x1b[97;40m${line}\x1b[0m` : line)).join('\n')
}

export function addLookCommands(links: Command): void {
  links
    .command('open <code>')
    .description('follow it in your browser')
    .action(async (code: string, _: unknown, command: Command) => {
      const { api, say } = sessionOf(command)
      const { shortUrl } = await say.answer(api.GET('/links/{code}', { params: { path: { code } } }))
      if (!/^https?:\/\//.test(shortUrl) || !(await open(shortUrl))) {
        throw new Complaint(`No browser could be started. The address is ${shortUrl}`, 1)
      }
      say.made({ shortUrl }, shortUrl)
    })
  links
    .command('qr <code>')
    .description('the QR code of its short URL: shown here, or written as SVG')
    .option('-o, --output <file>', 'an SVG file')
    .option('--level <level>', 'how much of it may be dirty: `L` 7 %, `M` 15 %, `Q` 25 %, `H` 30 %', 'M')
    .action(async (code: string, { output, level }: { output?: string; level: string }, command: Command) => {
      const ecc = levels[level as keyof typeof levels] as (typeof levels)['L'] | undefined
      if (ecc === undefined) throw new Complaint('--level must be one of: L, M, Q, H.', 2)
      const { api, say } = sessionOf(command)
      const { shortUrl } = await say.answer(api.GET('/links/{code}', { params: { path: { code } } }))
      if (output !== undefined && !output.endsWith('.svg')) {
        throw new Complaint(`An SVG is written: name a file that ends with .svg. A PNG is at ${shortUrl}.png`, 2)
      }
      // On a dark page it would not be read without white below it.
      const white = '<rect width="100%" height="100%" fill="#fff"/>'
      const svg = encodeQR(shortUrl, 'svg', { ecc, border: 4 }).replace('<path', `${white}<path`)
      if (output === undefined) return say.made({ shortUrl, svg }, `${forTerminal(shortUrl, ecc)}\n${shortUrl}`)
      write(output, svg)
      say.made({ shortUrl, file: output }, `${output} leads to ${shortUrl}`)
    })
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new Complaint(`${file} cannot be written: ${(error as Error).message}`, 1)
  }
}
