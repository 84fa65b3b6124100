// What the page of members says.
import { catalogue } from '../words/words.tsx'

const en = {
  lead: (tenant: string) => `People of ${tenant}. Each signs in by an invitation, or by the identity provider.`,
  invite: 'Invite somebody',
  inviteTitle: 'A new member',
  none: 'Nobody yet',
  noneAbout: 'Invite the people of your team: they need no key, and you can remove each alone.',
  invited: (day: string) => `invited ${day}, has not come yet`,
  joined: (at: string) => `signed in ${at}`,
  byProvider: 'by the identity provider',
  actions: (name: string) => `Actions for ${name}`,
  change: 'Change name or role',
  changeTitle: (name: string) => `Change ${name}`,
  changeAbout: 'It holds within a second, for sessions that are open, too.',
  saved: (name: string) => `${name} is changed`,
  again: 'New invitation',
  remove: 'Remove',
  removeAsk: (name: string) => `Remove ${name}?`,
  removeAbout: 'The sessions and the invitation end within a second. Links that were made stay.',
  removeProvider: 'Whoever still has a group at the identity provider may come back.',
  removed: (name: string) => `${name} is removed`,
  once: (name: string) => `The invitation of ${name}`,
  onceAbout: 'Send this link: it is shown this once, and signs in once. One from before is void.',
  link: 'Link',
  ends: (at: string) => `It is good until ${at}.`,
}

const de: typeof en = {
  lead: (tenant) =>
    `Die Leute von ${tenant}. Jeder meldet sich über eine Einladung an oder über den Identitätsanbieter.`,
  invite: 'Jemanden einladen',
  inviteTitle: 'Ein neues Mitglied',
  none: 'Noch niemand',
  noneAbout:
    'Lade die Leute aus deinem Team ein: Sie brauchen keinen Schlüssel, und jeder lässt sich einzeln entfernen.',
  invited: (day) => `eingeladen ${day}, war noch nicht da`,
  joined: (at) => `angemeldet ${at}`,
  byProvider: 'über den Identitätsanbieter',
  actions: (name) => `Aktionen für ${name}`,
  change: 'Namen oder Rolle ändern',
  changeTitle: (name) => `${name} ändern`,
  changeAbout: 'Das gilt binnen einer Sekunde, auch in offenen Sitzungen.',
  saved: (name) => `${name} ist geändert`,
  again: 'Neue Einladung',
  remove: 'Entfernen',
  removeAsk: (name) => `${name} entfernen?`,
  removeAbout: 'Die Sitzungen und die Einladung enden binnen einer Sekunde. Links, die erstellt wurden, bleiben.',
  removeProvider: 'Wer beim Identitätsanbieter noch eine Gruppe hat, kann wiederkommen.',
  removed: (name) => `${name} ist entfernt`,
  once: (name) => `Die Einladung von ${name}`,
  onceAbout:
    'Schicke diesen Link: Er wird nur dieses eine Mal gezeigt und meldet genau einmal an. Frühere gelten nicht mehr.',
  link: 'Link',
  ends: (at) => `Er gilt bis ${at}.`,
}

export const useMemberWords = catalogue({ en, de })
