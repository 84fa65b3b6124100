// What a load test has begun is ended and undone, whoever ends it: Ctrl-C, or a reader who has left.
import { spawn } from 'node:child_process'
import { mkdtempSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { waitFor } from '../../embedded/wait.ts'

/** Speaks all the time; ends what it does when it is told, and undoes it. */
const program = (undone: string): string => `
  import { writeFileSync } from 'node:fs'
  import { heedInterrupts, interruptedCode, onInterrupt, refuseIfInterrupted, unlessInterrupted } from '${join(import.meta.dirname, 'interruption.ts')}'
  heedInterrupts()
  const speaking = setInterval(() => console.log('on'), 5)
  const work = new Promise((resolve) => onInterrupt(() => setTimeout(resolve, 50)))
  try {
    await unlessInterrupted(work)
  } catch (error) {
    clearInterval(speaking)
    let refused = false
    try { refuseIfInterrupted() } catch { refused = true }
    writeFileSync('${undone}', error.message + ' ' + refused)
    process.exitCode = interruptedCode
  }`

test.each([
  ['Ctrl-C', (child: ReturnType<typeof spawn>) => child.kill('SIGINT')],
  ['a reader who leaves', (child: ReturnType<typeof spawn>) => child.stdout?.destroy()],
])('%s: what is under way ends, then it is undone, and nothing is begun any more', async (_, end) => {
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-interrupt-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const undone = join(dir, 'undone')
  const args = ['--no-warnings', '--input-type=module', '-e', program(undone)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await new Promise((resolve) => child.stdout.once('data', resolve))
  end(child)
  expect(await ended).toBe(130)
  await waitFor(() => existsSync(undone))
  expect(readFileSync(undone, 'utf8')).toBe('Stopped before its end: it proves nothing. true')
})
