// What stands around every page: where one is, where one can go, and who one is.
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { Button } from 'react-aria-components/Button'
import { Menu, MenuItem, MenuTrigger, Separator } from 'react-aria-components/Menu'
import { Popover } from 'react-aria-components/Popover'
import { Link, useLocation } from 'wouter'
import { Icon, Mark, type IconName } from './parts/icon.tsx'
import { Shortcuts, useShortcut, useShortcutWords } from './parts/shortcuts.tsx'
import { useComplaint } from './parts/toasts.tsx'
import { useMe, useSession } from './session.tsx'
import type { Role } from './state.ts'
import { useWords } from './words/words.tsx'

const places = [
  { to: '/', name: 'links', role: 'viewer' },
  { to: '/stats', name: 'stats', role: 'viewer' },
  { to: '/imports', name: 'imports', role: 'editor' },
  { to: '/members', name: 'members', role: 'admin' },
  { to: '/keys', name: 'keys', role: 'admin' },
  { to: '/tenants', name: 'tenants', role: 'owner' },
  { to: '/domains', name: 'domains', role: 'owner' },
  { to: '/audit', name: 'audit', role: 'admin' },
  { to: '/system', name: 'system', role: 'owner' },
  { to: '/account', name: 'account', role: 'viewer' },
] as const satisfies readonly { to: string; name: IconName; role: Role }[]

const isAt = (here: string, to: string): boolean =>
  to === '/' ? here === '/' || here === '/new' || here.startsWith('/links/') : here === to || here.startsWith(`${to}/`)

export function Shell({ children }: { readonly children: ReactNode }) {
  const words = useWords()
  const me = useMe()
  const [here, go] = useLocation()
  const reachable = places.filter(({ role }) => me.may(role))
  useFocusOnNewPage(here)
  useShortcut('l', () => go('/'))
  useShortcut('s', () => go('/stats'))
  useShortcut('n', () => go('/new'), me.may('editor') && here !== '/')
  return (
    <div className="shell">
      <a className="skip" href="#main">
        {words.shell.skip}
      </a>
      <header className="side">
        <Link to="/" className="brand">
          <Mark />
          <span>QuickLink</span>
        </Link>
        <nav aria-label={words.shell.pages} className="nav">
          <ul>
            {reachable.map(({ to, name }) => (
              <li key={to}>
                <Link to={to} className="nav-link" aria-current={isAt(here, to) ? 'page' : undefined}>
                  <Icon name={name} />
                  {words.shell[name]}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <Who />
        <MenuTrigger>
          <Button className="button bare only-small" aria-label={words.shell.pages}>
            <Icon name="menu" />
          </Button>
          <Popover className="popover" placement="bottom end">
            <Menu className="list" onAction={(to) => go(String(to))}>
              {reachable.map(({ to, name }) => (
                <MenuItem key={to} id={to} className="item">
                  <Icon name={name} />
                  {words.shell[name]}
                </MenuItem>
              ))}
            </Menu>
          </Popover>
        </MenuTrigger>
      </header>
      {children}
    </div>
  )
}

function Who() {
  const words = useWords()
  const { signOut } = useSession()
  const { tenant, name, role } = useMe()
  const [, go] = useLocation()
  const keys = useShortcutWords()
  const [isAsking, setAsking] = useState(false)
  useShortcut('?', () => setAsking(true))
  const complain = useComplaint()
  const leave = (): void => void signOut().then(() => go('/'), complain)
  const act: Readonly<Record<string, () => void>> = {
    account: () => go('/account'),
    keys: () => setAsking(true),
    out: leave,
  }
  return (
    <>
      <Shortcuts isOpen={isAsking} onClose={() => setAsking(false)} />
      <MenuTrigger>
        <Button className="who">
          <span className="visually-hidden">{words.shell.signedIn}: </span>
          <span className="initial" aria-hidden="true">
            {tenant.slice(0, 1).toUpperCase()}
          </span>
          <span className="who-names">
            <strong>{name}</strong>
            <span>
              {tenant} · {words.roles[role]}
            </span>
          </span>
        </Button>
        <Popover className="popover" placement="top start">
          <Menu className="list" onAction={(key) => act[String(key)]?.()}>
            <MenuItem id="account" className="item">
              <Icon name="account" />
              {words.shell.account}
            </MenuItem>
            <MenuItem id="keys" className="item">
              <Icon name="menu" />
              {keys.title} <kbd>?</kbd>
            </MenuItem>
            <Separator className="line" />
            <MenuItem id="out" className="item">
              <Icon name="out" />
              {words.shell.signOut}
            </MenuItem>
          </Menu>
        </Popover>
      </MenuTrigger>
    </>
  )
}

/** Who listens to the page hears that there is another one; the first one is the browser's. */
function useFocusOnNewPage(here: string): void {
  const before = useRef(here)
  useEffect(() => {
    if (before.current === here) return
    before.current = here
    document.getElementById('main')?.focus()
    scrollTo(0, 0)
  }, [here])
}
