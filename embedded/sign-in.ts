// The link that signs the owner in to the console, once. It is made by the owner's key, and not shown where journald would keep it.
import { fstatSync } from 'node:fs'
import { limits } from '../server/limits.ts'
import { type Places, Refusal, type Say, readText } from './paths.ts'
import { runningServer } from './server.ts'

/** Asks `POST /api/v1/sign-in-links` with the owner's key; the text of the answer. */
export type AskForLink = () => Promise<string>

export const askHere =
  (places: Places, localUrl: string, env: NodeJS.ProcessEnv): AskForLink =>
  async () => {
    const file = env['OWNER_KEY_FILE'] ?? places.ownerKeyFile
    const key = env['OWNER_KEY'] ?? readText(file) ?? ''
    const headers = { Authorization: `Bearer ${key.trim()}` }
    const asked = { method: 'POST', headers, signal: AbortSignal.timeout(5000) }
    return (await fetch(`${localUrl}/api/v1/sign-in-links`, asked)).text()
  }

async function linkBy(ask: AskForLink): Promise<string> {
  const { url, detail } = JSON.parse(await ask()) as { url?: string; detail?: string }
  if (url === undefined) throw new Refusal(detail ?? 'QuickLink has not answered with a link.')
  return url
}

/** For `make sign-in`. */
export async function saySignIn(ask: AskForLink, say: Say): Promise<void> {
  const url = await linkBy(ask).catch((error: unknown) => {
    if (error instanceof Refusal) throw error
    throw new Refusal('QuickLink does not answer: see `make status`.')
  })
  say(`It signs you in once, within ${limits.signInLinkMinutes} minutes:`)
  say('')
  say(`  ${url}`)
  say('')
}

/** For `make up`, which has started it in any case. */
export async function sayConsole(ask: AskForLink, url: string, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  if (env['CONSOLE'] === 'off') return
  const link = isKept(env) ? undefined : await linkBy(ask).catch(() => undefined)
  if (link === undefined) return say(`The console is at ${url}/console: sign in with the owner key`)
  say(`Open the console; this signs you in once, within ${limits.signInLinkMinutes} minutes (\`make sign-in\` prints a new one):`)
  say('')
  say(`  ${link}`)
  say('')
} // prettier-ignore

/** Whether what is said goes into the journal, where others may read it: so it does for the unit of `make service`. */
function isKept(env: NodeJS.ProcessEnv): boolean {
  const { dev, ino } = fstatSync(1)
  return env['JOURNAL_STREAM'] === `${dev}:${ino}`
}

export async function signInHere(places: Places, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const server = runningServer(places)
  if (server === undefined) throw new Refusal('QuickLink is not running: `make up` starts it, and prints such a link.')
  await saySignIn(askHere(places, server.localUrl, env), say)
}
