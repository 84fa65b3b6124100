// The console: who is not signed in signs in; who is has the pages that the role may use.
import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react'
import { Redirect, Route, Router, Switch } from 'wouter'
import { Loading, Page } from './parts/page.tsx'
import { Toasts } from './parts/toasts.tsx'
import { SessionOf, useMe, useSession } from './session.tsx'
import { Shell } from './shell.tsx'
import { invited, takeToken, type Role } from './state.ts'
import { Speech, useWords } from './words/words.tsx'
import { Links } from './links/links.tsx'
import { SignIn } from './pages/sign-in.tsx'

const LinkPage = lazy(() => import('./link/link-page.tsx'))
const NewLink = lazy(() => import('./link/new-link.tsx'))
const StatsPage = lazy(() => import('./stats/stats.tsx'))
const Imports = lazy(() => import('./imports/imports.tsx'))
const Account = lazy(() => import('./pages/account.tsx'))
const Members = lazy(() => import('./members/members.tsx'))
const Keys = lazy(() => import('./pages/keys.tsx'))
const Tenants = lazy(() => import('./pages/tenants.tsx'))
const TenantPage = lazy(() => import('./pages/tenant.tsx'))
const Domains = lazy(() => import('./pages/domains.tsx'))
const Audit = lazy(() => import('./pages/audit.tsx'))
const System = lazy(() => import('./pages/system.tsx'))

export const App = () => (
  <Speech>
    <SessionOf>
      <Router base="/console">
        <Inside />
      </Router>
      <Toasts />
    </SessionOf>
  </Speech>
)

function Inside() {
  const { me } = useSession()
  // Whoever else is signed in here goes when the link is used.
  const [token, setToken] = useState(invited)
  useEffect(() => {
    // Of a link that is pasted while this page is open.
    const onHash = (): void => setToken((before) => takeToken() ?? before)
    addEventListener('hashchange', onHash)
    return () => removeEventListener('hashchange', onHash)
  }, [])
  if (me === null || token !== undefined) return <SignIn token={token} onDone={() => setToken(undefined)} />
  return (
    <Shell>
      <Suspense fallback={<Loading />}>
        <Pages />
      </Suspense>
    </Shell>
  )
}

interface Params {
  readonly code?: string
  readonly id?: string
  readonly [other: string]: string | undefined
}

/** Each with the role that it needs, and what its address says. */
const pages: readonly (readonly [path: string, role: Role, show: (params: Params) => ReactNode])[] = [
  ['/', 'viewer', () => <Links />],
  ['/new', 'editor', () => <NewLink />],
  ['/links/:code', 'viewer', ({ code = '' }) => <LinkPage code={code} />],
  ['/stats', 'viewer', () => <StatsPage />],
  ['/imports', 'editor', () => <Imports />],
  ['/account', 'viewer', () => <Account />],
  ['/members', 'admin', () => <Members />],
  ['/keys', 'admin', () => <Keys />],
  ['/tenants', 'owner', () => <Tenants />],
  ['/tenants/:id', 'owner', ({ id = '' }) => <TenantPage id={id} />],
  ['/domains', 'owner', () => <Domains />],
  ['/audit', 'admin', () => <Audit />],
  ['/system', 'owner', () => <System />],
]

function Pages() {
  const { may } = useMe()
  return (
    <Switch>
      {pages.map(([path, role, show]) => (
        <Route<Params> key={path} path={path}>
          {(params) => (may(role) ? show(params) : <Nothing />)}
        </Route>
      ))}
      <Route path="/sign-in">
        <Redirect to="/" replace />
      </Route>
      <Route>
        <Nothing />
      </Route>
    </Switch>
  )
}

function Nothing() {
  const words = useWords()
  return (
    <Page title={words.nothing.title} lead={words.nothing.lead}>
      {null}
    </Page>
  )
}
