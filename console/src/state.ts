// What the server has put into the page: who is signed in, and where this is.

export interface Me {
  readonly tenant: string
  readonly role: Role
  readonly name: string
}

interface PageState {
  /** null: nobody; 'unknown': the server could not look it up. */
  readonly signedIn: Me | null | 'unknown'
  readonly publicUrl: string
  readonly version: string
  readonly commit: string
}

export const pageState = JSON.parse(document.getElementById('state')?.textContent ?? '{}') as PageState

const ranks = ['viewer', 'editor', 'admin', 'owner'] as const
export type Role = (typeof ranks)[number]

/** The server decides; this is what is worth showing. */
export const may = ({ role }: Me, needed: Role): boolean => ranks.indexOf(role) >= ranks.indexOf(needed)

/** Of a link that signs somebody in: it is in memory alone from here on, and in no history. */
export function takeToken(): string | undefined {
  const token = /^#token=([\w-]{1,100})$/.exec(location.hash)?.[1]
  if (token !== undefined) history.replaceState(null, '', location.pathname)
  return token
}

/** That of the link by which this page was opened. */
export const invited = takeToken()
