// What `make up` was told: in the environment, in the file .env, or in the environment of an earlier start, in this order. What
// was given once holds for the next start, too; given empty (`PORT= make up`) it is forgotten. Secrets are not remembered:
// they belong into .env, or into a file that NAME_FILE names.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { placesFrom } from '../embedded/up.ts'
import { envName, fileSettings, secretSettings, settings as serverSettings } from '../server/config.ts'
import { type Places, Refusal, type Say, projectDir, readJson, readText, shown, writeJson } from '../embedded/paths.ts'
import { receiverSettings } from '../embedded/receiver.ts'

interface Given {
  readonly name: string
  readonly value: string
  readonly from: 'environment' | '.env' | 'an earlier start'
}

export interface Told {
  readonly given: readonly Given[]
  /** Names in .env that nothing reads, each with the one that may be meant. */
  readonly unknown: readonly { name: string; meant: string | undefined }[]
  /** To be kept once a start has succeeded. */
  readonly remembered: Readonly<Record<string, string>>
}

const secrets: ReadonlySet<string> = new Set(secretSettings.map(envName))
/** The address of a webhook lets whoever has it write there. It is kept all the same, or the next start would tell nobody. */
const isHidden = (name: string): boolean => secrets.has(name) || name === 'ALERT_WEBHOOK_URL'
/** `make up` finds what was remembered there. */
const isWhere = (name: string): boolean => name === 'DATA_DIR'

/** Of the server, and of the compose files. */
function knownNames(): Set<string> {
  const names = Object.keys(serverSettings).map(envName)
  const files = fileSettings.map((key) => `${envName(key)}_FILE`)
  const inCompose = ['', '.replicas', '.standby', '.cluster'].flatMap((which) =>
    [...readFileSync(join(projectDir, `docker-compose${which}.yml`), 'utf8').matchAll(/\$\{([A-Z][A-Z_]+)/g)].map(
      ([, name = '']) => name,
    ),
  )
  return new Set([...names, ...files, ...inCompose, ...receiverSettings, 'MODE'])
}

const dotenvText = (): string => readText(join(projectDir, '.env')) ?? ''

/** Before anything else: what was remembered is there. */
export const placesTold = (env: NodeJS.ProcessEnv, dotenv = dotenvText()): Places =>
  placesFrom({ DATA_DIR: env['DATA_DIR'] ?? parseEnv(dotenv)['DATA_DIR'] })

export function told(env: NodeJS.ProcessEnv, places: Places, dotenv = dotenvText()): Told {
  const known = knownNames()
  const inFile = parseEnv(dotenv) as Record<string, string>
  const before = earlier(places)
  const given: Given[] = []
  const remembered: Record<string, string> = {}
  for (const name of [...known].sort()) {
    const from = env[name] !== undefined ? 'environment' : inFile[name] !== undefined ? '.env' : 'an earlier start'
    const value = env[name] ?? inFile[name] ?? before[name] ?? ''
    if (value === '') continue
    given.push({ name, value, from })
    if (from !== '.env' && !secrets.has(name) && !isWhere(name) && name !== 'MODE') remembered[name] = value
  }
  const strange = Object.keys(inFile).filter((name) => !known.has(name) && !name.startsWith('COMPOSE_'))
  const unknown = strange.map((name) => ({ name, meant: nearest(name, known) }))
  return { given, unknown, remembered }
}

/** Nothing keeps a copy of it, so it is no use to look for one. */
function earlier({ settingsFile }: Places): Partial<Record<string, string>> {
  try {
    return readJson<Record<string, string>>(settingsFile) ?? {}
  } catch {
    throw new Refusal(`${shown(settingsFile)} is damaged: delete it, and give your settings to \`make up\` once more.`)
  }
}

export const remember = (places: Places, { remembered }: Told): void => writeJson(places.settingsFile, remembered)

/** Everything that was given, as an environment. */
export const asEnv = ({ given }: Told): Record<string, string> =>
  Object.fromEntries(given.map(({ name, value }) => [name, value]))

export function sayUnknown({ unknown }: Told, say: Say): void {
  for (const { name, meant } of unknown) {
    say(`.env sets ${name}, which nothing reads${meant === undefined ? '.' : `: is ${meant} meant?`}`)
  }
}

/** With Docker: a container that `docker compose` makes anew would be without what only `make up` remembers. */
export function sayWhatComposeLacks({ remembered }: Told, say: Say): void {
  const names = Object.keys(remembered)
  if (names.length === 0) return
  const verb = names.length > 1 ? 'are' : 'is'
  say(`${names.join(', ')} ${verb} remembered by \`make up\`; \`docker compose up\` alone reads .env: set there what is to hold for both.`)
} // prettier-ignore

/** For `make settings`. */
export function show(all: Told, say: Say): void {
  const hidden = (name: string, value: string): string => (isHidden(name) ? '(a secret)' : value)
  const rows = all.given.map(({ name, value, from }) => [name, hidden(name, value), from] as const)
  const widths = [0, 1].map((n) => Math.max(0, ...rows.map((row) => row[n as 0 | 1].length)))
  for (const [name, value, from] of rows) say(`${name.padEnd(widths[0]!)}  ${value.padEnd(widths[1]!)}  ${from}`)
  if (rows.length === 0) say('Nothing is set: everything is as docs/REFERENCE.md says.')
  else
    say(
      'The rest is as docs/REFERENCE.md says. NAME=value make up changes one and remembers it, NAME= make up forgets it.',
    )
  sayUnknown(all, say)
}

function nearest(name: string, known: ReadonlySet<string>): string | undefined {
  const [best] = [...known].map((other) => ({ other, far: distance(name, other) })).sort((a, b) => a.far - b.far)
  return best !== undefined && best.far <= 2 ? best.other : undefined
}

/** Letters to change, add or remove. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (const [i, letter] of Array.from(a).entries()) {
    const next = [i + 1]
    for (const [j, other] of Array.from(b).entries()) {
      next.push(Math.min(row[j]! + Number(letter !== other), row[j + 1]! + 1, next[j]! + 1))
    }
    row = next
  }
  return row.at(-1)!
}
