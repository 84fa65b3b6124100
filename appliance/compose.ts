// The one door to `docker compose`. The compose file says everything; here it is only called.
import { spawn } from 'node:child_process'
import { createReadStream, createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { Refusal, projectDir } from '../embedded/paths.ts'

interface Run {
  /** Fed to it. */
  readonly inputFile?: string
  /** Its output goes there instead of being answered. */
  readonly outputFile?: string
  /** Its output goes to the terminal. */
  readonly shown?: boolean
  readonly env?: NodeJS.ProcessEnv
  readonly deadlineMs?: number
  /** Told its pid. */
  readonly begun?: (pid: number) => void
}

interface Outcome {
  readonly code: number
  readonly text: string
  readonly errors: string
}

export async function docker(args: readonly string[], run: Run = {}): Promise<Outcome> {
  const child = spawn('docker', args, {
    cwd: projectDir,
    env: { ...process.env, ...run.env },
    stdio: [run.inputFile ? 'pipe' : 'ignore', run.shown ? 'inherit' : 'pipe', run.shown ? 'inherit' : 'pipe'],
    ...(run.deadlineMs ? { timeout: run.deadlineMs } : {}),
  })
  if (child.pid !== undefined) run.begun?.(child.pid)
  let text = ''
  let errors = ''
  const work: Promise<unknown>[] = []
  // A program that ends early says why itself; that its input could not be written is only a consequence.
  if (child.stdin) child.stdin.on('error', () => undefined)
  if (run.inputFile && child.stdin) createReadStream(run.inputFile).pipe(child.stdin)
  if (run.outputFile && child.stdout) {
    work.push(finished(child.stdout.pipe(createWriteStream(run.outputFile, { mode: 0o600 }))))
  } else {
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
  }
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const code = await new Promise<number>((resolve) => {
    child.once('error', (error) => {
      errors = error.message
      resolve(127)
    })
    child.once('close', (exit) => resolve(exit ?? 1))
  })
  await Promise.all(work)
  return { code, text, errors }
}

export const compose = (args: readonly string[], run?: Run): Promise<Outcome> => docker(['compose', ...args], run)

/** Its output; refuses when it fails. */
export async function composed(args: readonly string[], run?: Run): Promise<string> {
  const { code, text, errors } = await compose(args, run)
  if (code === 0) return text
  const why = errors.trim().split('\n').slice(-8).join('\n')
  throw new Refusal(
    `\`docker compose ${args.slice(0, 3).join(' ')} …\` failed (exit code ${code}).${why ? `\n${why}` : ''}`,
  )
}

export const inService = (service: string, command: readonly string[], run?: Run): Promise<string> =>
  composed(['exec', '-T', service, ...command], run)

/** Why Docker cannot be used here; undefined: it can. */
export async function dockerProblem(): Promise<string | undefined> {
  const engine = await docker(['version', '--format', '{{.Server.Version}}'], { deadlineMs: 5000 })
  if (engine.code === 127) return 'there is no `docker` command'
  if (engine.code !== 0) return 'no Docker engine answers'
  const plugin = await compose(['version', '--short'], { deadlineMs: 5000 })
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(plugin.text) ?? []).map(Number)
  if (plugin.code !== 0) return 'its compose plugin is missing'
  // `!reset` and optional files came with it.
  if (major < 2 || (major === 2 && minor < 24)) return `compose ${plugin.text.trim()} is too old: 2.24 is needed`
  return undefined
}

export const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')

export const idsOf = async (...args: string[]): Promise<string[]> => linesOf(await composed(['ps', '-q', ...args]))
