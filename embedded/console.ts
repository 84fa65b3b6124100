// The console is built beside the start, where its sources have changed since. It is never a reason not to start.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Say, projectDir } from './paths.ts'

/** Longer than a busy machine takes. */
const deadlineMs = 180_000

export async function buildConsole(say: Say): Promise<void> {
  const built = promisify(execFile)(process.execPath, [join(projectDir, 'console', 'build.ts')], {
    cwd: projectDir,
    timeout: deadlineMs,
  })
  built.child.stdout?.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString().trimEnd().split('\n')) if (line.startsWith('Building')) say(line)
  })
  try {
    await built
  } catch (error) {
    const { stderr = '', message } = error as { stderr?: string; message: string }
    const why = stderr.split('\n').find((line) => /error/i.test(line)) ?? message.split('\n')[0]
    say(`The console could not be built (${why}): QuickLink starts without it. \`npm run -s console\` tries it again.`)
  }
}
