// Who is signed in. A session that has ended shows itself by the next answer, wherever that comes from.
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createContext, useContext, useEffect, useState, type ReactNode } from 'react'
import { answerOf, api, done, problemOf } from './api.ts'
import { may, pageState, type Me, type Role } from './state.ts'

interface Session {
  /** null: nobody. */
  readonly me: Me | null
  /** It was there, and has ended without being asked to. */
  readonly hasEnded: boolean
  readonly signIn: (by: { readonly key: string } | { readonly token: string }) => Promise<void>
  readonly signOut: () => Promise<void>
  /** It has ended at the server. */
  readonly forget: () => void
}

const Signed = createContext<Session | null>(null)

/** undefined: not known yet. */
type Known = { readonly me: Me | null; readonly hasEnded: boolean } | undefined

export function SessionOf({ children }: { readonly children: ReactNode }) {
  const [known, setKnown] = useState<Known>(
    pageState.signedIn === 'unknown' ? undefined : { me: pageState.signedIn, hasEnded: false },
  )
  const [queries] = useState(() => {
    const onError = (error: unknown): void => {
      if (problemOf(error).code === 'unauthorized')
        setKnown((before) => (before?.me ? { me: null, hasEnded: true } : before))
    }
    return new QueryClient({
      queryCache: new QueryCache({ onError }),
      mutationCache: new MutationCache({ onError }),
      defaultOptions: { queries: { retry: false, staleTime: 5000 } },
    })
  })
  useEffect(() => {
    if (known !== undefined) return
    // The server could not look it up when it made the page. Whoever has no session finds the way to sign in.
    void answerOf(api.GET('/session')).then(
      ({ tenant, role, name }) => setKnown({ me: { tenant, role, name }, hasEnded: false }),
      () => setKnown({ me: null, hasEnded: false }),
    )
  }, [known])
  if (known === undefined) return null
  const forget = (): void => {
    queries.clear()
    setKnown({ me: null, hasEnded: false })
  }
  const session: Session = {
    ...known,
    async signIn(by) {
      const { tenant, role, name } = await answerOf(api.POST('/session', { body: by }))
      queries.clear()
      setKnown({ me: { tenant, role, name }, hasEnded: false })
    },
    async signOut() {
      await done(api.DELETE('/session')).catch((error: unknown) => {
        if (problemOf(error).code !== 'unauthorized') throw error
      })
      forget()
    },
    forget,
  }
  return (
    <Signed value={session}>
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    </Signed>
  )
}

export function useSession(): Session {
  const session = useContext(Signed)
  if (session === null) throw new Error('outside of SessionOf')
  return session
}

/** On pages that only who is signed in sees. */
export function useMe(): Me & { readonly may: (needed: Role) => boolean } {
  const { me } = useSession()
  if (me === null) throw new Error('nobody is signed in')
  return { ...me, may: (needed) => may(me, needed) }
}
