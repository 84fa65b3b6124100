// What a person said by the environment, and how a command of theirs ends: one sentence where it is nothing that can be done.
import { Refusal } from '../../embedded/paths.ts'

type Environment = Readonly<Record<string, string | undefined>>

export function numberFrom(env: Environment, name: string, fallback: number): number {
  const text = env[name] || String(fallback)
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new Refusal(`${name} is ${text}, but must be a number above 0.`)
}

export function choiceFrom<T extends string>(env: Environment, name: string, choices: readonly T[], fallback: T): T {
  const text = env[name] || fallback
  const choice = choices.find((each) => each === text)
  if (choice !== undefined) return choice
  throw new Refusal(`${name} is ${text}, but must be one of ${choices.join(', ')}.`)
}

/** Several, separated by commas; undefined where nothing was said. */
export function choicesFrom<T extends string>(env: Environment, name: string, choices: readonly T[]): T[] | undefined {
  const texts = (env[name] ?? '').split(',').filter((text) => text !== '')
  const some = texts.map((text) => choiceFrom({ [name]: text }, name, choices, choices[0]!))
  return some.length > 0 ? some : undefined
}

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
