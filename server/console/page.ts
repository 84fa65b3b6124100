// The page of the console, as one visitor gets it: a nonce for its styles, the theme that was chosen, and who is signed in.
import type { Caller } from '../api/operation.ts'
import { readBuild } from '../telemetry/build.ts'

export interface Visit {
  readonly nonce: string
  readonly theme: 'light' | 'dark' | undefined
  /** undefined: nobody; 'unknown': it could not be looked up. */
  readonly signedIn: Pick<Caller, 'tenant' | 'role' | 'name'> | undefined | 'unknown'
  readonly publicUrl: string
}

/** What is chosen in the console; without it the system's is taken. A script would say so only after the first paint. */
export function themeIn(cookie: string | undefined): Visit['theme'] {
  return /(?:^|; )quicklink-theme=(light|dark)(?:;|$)/.exec(cookie ?? '')?.[1] as Visit['theme']
}

const release = readBuild()

const shown = (signedIn: Visit['signedIn']) =>
  typeof signedIn === 'object'
    ? { tenant: signedIn.tenant, role: signedIn.role, name: signedIn.name }
    : (signedIn ?? null)

export function pageOf(index: string, { nonce, theme, signedIn, publicUrl }: Visit): string {
  const state = { signedIn: shown(signedIn), publicUrl, ...release }
  const parts: Readonly<Record<string, string>> = {
    nonce,
    theme: theme ?? 'system',
    // It stands between tags: no `<` of it may end them.
    state: JSON.stringify(state).replaceAll('<', '\\u003c'),
  }
  return index.replace(/\{\{(\w{1,10})\}\}/g, (_all, name: string) => parts[name] ?? '')
}
