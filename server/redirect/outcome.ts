// What a request for a code is told: decided here, once, and written by whoever holds the connection: the front door on
// the raw socket, or node:http behind it.
import type { Counter } from '../clicks/counter.ts'
import type { HitQuota, Verdict } from '../hits/hit-quota.ts'
import { isLink, parseCode, type Code } from '../link.ts'
import {
  broken,
  cannotSay,
  notFound,
  overloaded,
  tooManyAbsent,
  unfit,
  ungrantable,
  usedUp,
  type Page,
} from './pages.ts'
import { isOver, prepareCopy, type Prepared } from './prepared.ts'
import type { Resolver, Source } from './resolve.ts'
import type { Copy } from './tier1-local.ts'

/** A redirect, or a page instead of one. */
export type Outcome = Prepared | Page

/** Which tier answered; undefined: none was asked. */
export type Knower = Source | 'local' | undefined

export interface Told {
  readonly outcome: Outcome
  readonly source: Knower
}

/** Who asks. What it has to say is looked at only if it matters. */
export interface Asker {
  /** False: the client has gone meanwhile, and nothing is spent on it. */
  isWanted(): boolean
  /** Of its connection. */
  readonly peer: string | undefined
  readonly forwardedFor: string | undefined
}

export interface DecisionDeps {
  readonly resolver: Pick<Resolver, 'local' | 'ask'>
  /** Unix milliseconds, which links end by. */
  readonly nowMs: () => number
  readonly clicks: Pick<Counter, 'tally'>
  readonly hits: Pick<HitQuota, 'leaseOf' | 'acquire' | 'look' | 'secondsToMonthEnd'>
  /** Hears of every 404, and says when it should be a 429. */
  readonly absentCodes: {
    onNotFound(peer: string | undefined, forwardedFor: string | undefined): { blocked: boolean; retryAfterS: number }
  }
  readonly onShed: () => void
  readonly onError: (error: unknown) => void
}

/**
 * What is known of a code, and whether there is a hit left of it, make what is told. `prepared` is the copy's redirect,
 * if it can be one.
 */
export function outcome(
  copy: Copy | 'unknown',
  prepared: Prepared | undefined,
  nowMs: () => number,
  verdict: Verdict,
  secondsToMonthEnd: () => number,
): Outcome {
  if (copy === 'unknown') return cannotSay
  if (!isLink(copy.known)) return notFound
  if (prepared === undefined) return unfit
  if (isOver(prepared, nowMs)) return notFound
  switch (verdict) {
    case 'granted':
      return prepared
    case 'used_up':
      return usedUp(secondsToMonthEnd())
    case 'gone':
      return notFound
    case 'unknown':
      return ungrantable
    case 'overloaded':
      return overloaded
  }
}

export class Decisions {
  readonly #deps: DecisionDeps

  constructor(deps: DecisionDeps) {
    this.#deps = deps
  }

  /**
   * The redirect that tier 1 has ready: no promise, no allocation. Undefined: `ask`. Only parsed codes are ever held, so a
   * copy proves the code.
   */
  atOnce(code: string, isHead: boolean, monotonicMs: number): Prepared | undefined {
    const { resolver, clicks, hits, nowMs } = this.#deps
    const copy = resolver.local(code as Code)
    if (copy === undefined) return undefined
    const prepared = copy.prepared ?? prepareCopy(copy, clicks, hits)
    if (prepared === undefined || isOver(prepared, nowMs)) return undefined
    const { lease } = prepared
    return lease === undefined || (!isHead && lease.spend(monotonicMs)) ? prepared : undefined
  }

  /** Everything else. HEAD is told what GET would be, and takes no hit. */
  ask(path: string, isHead: boolean, asker: Asker): Told | Promise<Told> {
    const code = parseCode(path)
    if (code === undefined) return this.#tell(notFound, undefined, asker)
    const { resolver, onShed } = this.#deps
    const copy = resolver.local(code)
    if (copy !== undefined) {
      const told = this.#of(copy, 'local', isHead, asker)
      return told instanceof Promise ? told.catch(this.#onBroken) : told
    }
    const found = resolver.ask(code)
    if (found === undefined) {
      onShed()
      return { outcome: overloaded, source: undefined }
    }
    return found.then(({ copy, source }) => this.#of(copy, source, isHead, asker)).catch(this.#onBroken)
  }

  /** A mistake is answered, too: an unhandled rejection would end the process. */
  readonly #onBroken = (error: unknown): Told => {
    this.#deps.onError(error)
    return { outcome: broken, source: undefined }
  }

  #of(copy: Copy | 'unknown', source: Knower, isHead: boolean, asker: Asker): Told | Promise<Told> {
    const { clicks, hits, nowMs, onShed } = this.#deps
    const prepared = copy === 'unknown' ? undefined : prepareCopy(copy, clicks, hits)
    const tell = (verdict: Verdict): Told => {
      if (verdict === 'overloaded') onShed()
      const said = outcome(copy, prepared, nowMs, verdict, () => hits.secondsToMonthEnd())
      return this.#tell(said, source, asker)
    }
    const lease = prepared?.lease
    if (prepared === undefined || lease === undefined || isOver(prepared, nowMs)) return tell('granted')
    if (isHead) return hits.look(lease).then(tell)
    return lease.spend(performance.now()) ? tell('granted') : hits.acquire(lease, () => asker.isWanted()).then(tell)
  }

  /** An address that has asked for many absent codes is told 429. */
  #tell(outcome: Outcome, source: Knower, asker: Asker): Told {
    if (outcome !== notFound) return { outcome, source }
    const { blocked, retryAfterS } = this.#deps.absentCodes.onNotFound(asker.peer, asker.forwardedFor)
    return { outcome: blocked ? tooManyAbsent(retryAfterS) : notFound, source }
  }
}
