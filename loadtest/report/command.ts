// How a command of a person ends.
import { Refusal } from '../../embedded/paths.ts'

/**
 * Runs a command to its exit code. Ended from outside (Ctrl-C, `| head`), it ends at once and in silence: what it has
 * started dies with it.
 */
export async function command(work: () => Promise<number>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130))
  process.stdout.once('error', () => process.exit(141))
  try {
    process.exitCode = await work()
  } catch (error) {
    console.error(error instanceof Refusal ? error.message : error)
    process.exitCode = 2
  }
}
