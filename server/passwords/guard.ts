// Whether a visitor's password opens a link.
//
//   count the attempt ─▶ read the form ─▶ read hash and target ─▶ hash what was said ─▶ the target
//
// An attempt is counted before anything is done for it, so that many at once are no more than one after the other; one that
// was right, or that we could not look at, is given back. All workers of a server count together, through the primary
// process; two servers behind one balancer count apart. Whoever has many addresses has as many attempts: what slows that
// down is that a process hashes one password at a time.
import type { Config } from '../config.ts'
import { limits } from '../limits.ts'
import type { Breaker } from '../connections/breaker.ts'
import { withDeadline } from '../connections/deadline.ts'
import type { Sql } from '../connections/postgres.ts'
import type { Code } from '../link.ts'
import { subscriberOf } from '../rates/addresses.ts'
import { clientAddress } from '../rates/client-address.ts'
import type { Counters } from '../rates/counters.ts'
import type { Hasher } from './hasher.ts'
import { readSecret } from './store.ts'

/** By whoever reads the form. */
export class FormRefused extends Error {
  override readonly name = 'FormRefused'
  readonly why: 'too_large' | 'too_slow'

  constructor(why: FormRefused['why']) {
    super(`the form is ${why.replace('_', ' ')}`)
    this.why = why
  }
}

export interface Guess {
  readonly peer: string | undefined
  readonly forwardedFor: string | undefined
  isWanted(): boolean
  /** Undefined: the form has none. */
  password(): Promise<string | undefined>
}

export type Opened =
  | { readonly url: string }
  | 'wrong'
  /** The link has changed meanwhile: it is to be asked for anew. */
  | 'changed'
  | 'busy'
  | 'unavailable'
  | { readonly tooManyForS: number }

interface GuardDeps {
  readonly sql: Sql
  readonly breaker: Breaker
  readonly counters: Counters
  readonly hasher: Pick<Hasher, 'isRight'>
  readonly config: Pick<Config, 'dbTimeoutMs' | 'trustProxy'>
  readonly onBlocked: () => void
}

export type Guard = ReturnType<typeof createGuard>

export function createGuard({ sql, breaker, counters, hasher, config, onBlocked }: GuardDeps) {
  const read = (code: Code, linkId: number) =>
    breaker.run(() => withDeadline(readSecret(sql, code, linkId), config.dbTimeoutMs, 'Postgres'))

  let lookedAt = 0
  const look = async (code: Code, linkId: number, guess: Guess): Promise<Opened> => {
    const password = await guess.password()
    if (password === undefined) return 'wrong'
    // Before Postgres is asked: those who would be turned away anyway cost it nothing.
    if (lookedAt > limits.passwordsWaiting) return 'busy'
    lookedAt++
    try {
      return await hold(code, linkId, password, guess)
    } finally {
      lookedAt--
    }
  }

  const hold = async (code: Code, linkId: number, password: string, guess: Guess): Promise<Opened> => {
    const secret = await read(code, linkId).catch(() => 'unavailable' as const)
    if (secret === 'unavailable') return secret
    if (secret === undefined) return 'changed'
    const isRight = await hasher.isRight(password, secret.hash, () => guess.isWanted()).catch(() => undefined)
    return isRight === undefined ? 'busy' : isRight ? { url: secret.url } : 'wrong'
  }

  return {
    async open(code: Code, linkId: number, guess: Guess): Promise<Opened> {
      const address = subscriberOf(clientAddress(guess.peer, guess.forwardedFor, config.trustProxy))
      const taken = await counters.take([{ key: `${linkId} ${address}`, limit: limits.guesses }])
      if (!taken.granted) {
        onBlocked()
        return { tooManyForS: Math.max(1, Math.ceil(taken.held.endsInMs / 1000)) }
      }
      let opened: Opened = 'wrong'
      try {
        return (opened = await look(code, linkId, guess))
      } finally {
        if (opened !== 'wrong') for (const giveBack of taken.giveBack) await giveBack()
      }
    },
  }
}
