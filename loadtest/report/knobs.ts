// Numbers, switches and choices that the bench, drills and load tests are given in the environment: each is what it must be, or one sentence.
import { Refusal } from '../../embedded/paths.ts'

interface Range {
  readonly from: number
  readonly to: number
  readonly unit?: string
  /** Else whole numbers alone. */
  readonly fraction?: boolean
}

/** Undefined: it is not given. */
export function numberOf(
  env: NodeJS.ProcessEnv,
  name: string,
  { from, to, unit = '', fraction = false }: Range,
): number | undefined {
  const text = env[name]?.trim()
  if (!text) return undefined
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN
  if (value >= from && value <= to && (fraction || Number.isInteger(value))) return value
  const kind = fraction ? 'a number' : 'a whole number'
  throw new Refusal(
    `${name} is ${text.slice(0, 40)}, but must be ${kind} from ${from} to ${to}${unit && ` (${unit})`}.`,
  )
}

export function yesOf(env: NodeJS.ProcessEnv, name: string): boolean {
  const word = env[name] || 'no'
  if (word === 'yes' || word === 'no') return word === 'yes'
  throw new Refusal(`${name} is ${word.slice(0, 40)}, but must be yes or no.`)
}

export function choiceOf<T extends string>(
  env: NodeJS.ProcessEnv,
  name: string,
  choices: readonly T[],
  fallback: T,
): T {
  const text = env[name] || fallback
  const choice = choices.find((each) => each === text)
  if (choice !== undefined) return choice
  throw new Refusal(`${name} is ${text.slice(0, 40)}, but must be one of ${choices.join(', ')}.`)
}

/** Several, separated by commas; undefined where nothing was said. */
export function choicesOf<T extends string>(
  env: NodeJS.ProcessEnv,
  name: string,
  choices: readonly T[],
): T[] | undefined {
  const texts = (env[name] ?? '').split(',').filter((text) => text !== '')
  const some = texts.map((text) => choiceOf({ [name]: text }, name, choices, choices[0]!))
  return some.length > 0 ? some : undefined
}
