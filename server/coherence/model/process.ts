// One process of the model: the real code of tiers 1 to 3, of passes, trust, vouching and announcements, and the place of
// each flaw that is put in on purpose.
// Long because each flaw stands here beside the part that it spoils.
import { Breaker } from '../../connections/breaker.ts'
import { Partitions } from '../../connections/partitions.ts'
import type { Code } from '../../link.ts'
import { createResolver, type Resolver } from '../../redirect/resolve.ts'
import { copyOf, createTier1, type Tier1 } from '../../redirect/tier1-local.ts'
import { createTier2, inParts, noTier2, type Tier2 } from '../../redirect/tier2-redis.ts'
import { createTier3 } from '../../redirect/tier3-postgres.ts'
import { createNearTier, type NearTier } from '../../redirect/tier3-standby.ts'
import { epochMs, type VirtualTime } from '../../../testing/virtual-time.ts'
import { announceLocally, createAnnouncer, type Announcer } from '../announce.ts'
import { createFreshener, type Freshener } from '../freshen.ts'
import { createFresheners } from '../fresheners.ts'
import { News } from '../news.ts'
import { createPass } from '../pass.ts'
import { startRelay, type Relay } from '../relay.ts'
import { watchStandby } from '../standby.ts'
import { Trust } from '../trust.ts'
import type { NearTruth, Truth } from '../truth.ts'
import { Landing, Vouching } from '../vouching.ts'
import type { Flaws as PostgresFlaws } from './postgres-model.ts'
import { RedisClient, type Flaws as RedisFlaws, type RedisServer } from './redis-model.ts'

export interface Flaws extends PostgresFlaws, RedisFlaws {
  /** Any connection is trusted once there has been a pass. */
  readonly blindTrust?: boolean
  /** A fill carries the cursor as it is when Postgres has answered, not as it was before. */
  readonly lateCursor?: boolean
  /** A nudge brings the link along, and is believed. */
  readonly nudgeIsTruth?: boolean
  /** Tier 1 keeps whatever came last. */
  readonly tier1KeepsLast?: boolean
  /** Redis is believed although tier 1 has a newer version. */
  readonly redisIsTruth?: boolean
  /** A newer version in tier 1 outranks Redis for as long as that may be behind. */
  readonly tier1Outranks?: boolean
  /** A copy is vouched for although passes were answered between its asking and its storing. */
  readonly vouchAnyLookup?: boolean
  /** The same for a process' own change: they are counted from the announcement only. */
  readonly vouchAnyChange?: boolean
  /** The same for a process' own change of many. */
  readonly vouchAnyChangeOfMany?: boolean
  /** Of its own change of many, a process' tier 1 hears by passes. */
  readonly manyAreNotTold?: boolean
  /** A copy from Redis is vouched for whatever cursor stands there. */
  readonly vouchAnyCursor?: boolean
  /** A copy from Redis is vouched for while news has yet to land there. */
  readonly vouchBeforeLanding?: boolean
  /** A copy from a Redis that is not trusted is vouched for. */
  readonly vouchUntrusted?: boolean
  readonly vouchAbsences?: boolean
  /** News of the version that is held is none, also when the row is gone. */
  readonly amendNewerOnly?: boolean
  /** What is vouched for once is served for good. */
  readonly vouchForGood?: boolean
  /** A process goes on with its own cursor in another database. */
  readonly vouchAnyDatabase?: boolean
  /** A long list, which is not read, takes nothing from tier 1. */
  readonly longListIsNothing?: boolean
  /** What a pass heard is applied to a Redis that was further behind. */
  readonly freshenAnyCursor?: boolean
  /** A standby is believed whatever passes have heard. */
  readonly nearKnowsAll?: boolean
  /** A standby is believed although this process has just changed the link. */
  readonly nearIsTruth?: boolean
  /** What a standby said is put into a Redis that is ahead of this process' passes. */
  readonly nearFillsAny?: boolean
  /** What a standby says is measured by what another server at its address has said of itself. */
  readonly nearByAnother?: boolean
}

export interface Process {
  /** Of a cluster, one for each partition. One process has none. */
  readonly redis: Partitions<RedisClient> | undefined
  readonly tier1: Tier1
  readonly resolver: Resolver
  readonly announcer: Announcer
  readonly relay: Relay
  postgresUp: boolean
  /** The standby was asked, and is not any more. */
  stop(): void
  /** Postgres answers passes: all triggers are on. */
  passesUp: boolean
  /** When its tier 1 was emptied last. */
  pushedOutMs: number
  /** Until when a read may be excused: Postgres could not be asked, or its breaker is still open. */
  excusedUntilMs: number
}

/** A standby near by, and the way to the primary by which its heartbeat is written. */
export interface Near {
  readonly truth: NearTruth
  beat(reach: () => Promise<void>): Promise<void>
}

interface Surroundings {
  /** Undefined: there is none. */
  readonly near?: Near | undefined
  readonly time: VirtualTime
  readonly flaws: Flaws
  readonly truthFor: (reach: () => Promise<void>) => Truth
  readonly nudge: (server: RedisServer, code: Code) => void
  readonly onUnanswered: (process: Pick<Process, 'excusedUntilMs'>) => void
  readonly onLowered: (code: Code) => void
}

export const settings = {
  redisTimeoutMs: 50,
  dbTimeoutMs: 100,
  linkTtlS: 3600,
  earlyRefreshZone: 0.2,
  // Much more often than outside, so that a short run lives it.
  earlyRefreshChance: 0.5,
  staleMaxS: 21_600,
}
export const freshMs = 100

/** The last cursor that was left in Redis is good, whatever was heard since. */
class HastyLanding extends Landing {
  override isCurrent(text: string | null): boolean {
    return this.reached(text) !== undefined
  }
}

/** Whatever stands in Redis is good, once something was left there. */
class CarelessLanding extends Landing {
  #last: string | null = null
  override hasLanded(...[text, ...more]: Parameters<Landing['hasLanded']>): void {
    this.#last = text
    super.hasLanded(text, ...more)
  }
  override isCurrent(): boolean {
    return super.isCurrent(this.#last)
  }
}

// Long because it puts a whole process together, with the place of each flaw.
export function startProcess(index: number, servers: readonly RedisServer[], surroundings: Surroundings): Process {
  const { time, flaws } = surroundings
  const nowMs = (): number => time.nowMs
  const nothing = (): void => undefined
  const vouching = new Vouching(800)
  const LandingKind = flaws.vouchBeforeLanding ? HastyLanding : flaws.vouchAnyCursor ? CarelessLanding : Landing
  const forGood = {
    get untilMs() {
      return vouching.passes > 0 ? Infinity : -Infinity
    },
  }
  const tier1 = createTier1({
    max: 100,
    freshMs,
    graceMs: 50,
    staleMaxMs: 1e9,
    trustMs: 800,
    vouching: flaws.vouchForGood ? forGood : vouching,
    nowMs,
  })
  spoil(tier1, flaws)
  const makePart = (server: RedisServer) => {
    const redis = new RedisClient(server, time, flaws, surroundings.onLowered)
    const trust = new Trust(800, nowMs)
    if (flaws.blindTrust) {
      const renew = trust.renew.bind(trust)
      let passed = false
      trust.renew = (...at) => {
        passed = true
        renew(...at)
      }
      trust.holds = () => passed
    }
    return { cache: redis, trust, landing: new LandingKind(vouching), breaker: breakerOf(3000) }
  }
  const breakerOf = (openMs: number): Breaker => new Breaker({ failures: 5, windowMs: 10_000, openMs, nowMs })
  const parts = servers.length > 0 ? new Partitions(servers.map(makePart)) : undefined
  const process = { postgresUp: true, passesUp: true, excusedUntilMs: -1, pushedOutMs: -1 }
  const reach = async (): Promise<void> => {
    await time.sleep(replyMs(time))
    if (!process.postgresUp) throw Object.assign(new Error('Postgres is away'), { code: 'ECONNREFUSED' })
  }
  const truth = surroundings.truthFor(reach)
  const { near } = surroundings
  const news = near && new News(3)
  if (news) spoilNews(news, flaws)
  const standby =
    near &&
    watchStandby({
      near: near.truth,
      far: { query: () => near.beat(reach).then(() => []) },
      everyMs: 200,
      lagMaxS: 5,
      pauseMs: 1000,
      nowMs,
      clockMs: nowMs,
      onError: nothing,
    })
  const changesSince: Truth['changesSince'] = (cursor) =>
    process.passesUp ? truth.changesSince(cursor) : Promise.reject(new Error('a trigger is off'))
  const far = { ...truth, changesSince }
  const passes = standby?.inNeed(far, 800, nothing) ?? far
  const onGoneBack = (): Promise<void> => Promise.resolve()
  const told = { onApplied: nothing, onGoneBack, nowMs, vouching, truth: passes }
  const prepare = onGoneBack
  const untold = { ...told, onWipe: nothing, onFailure: nothing, prepare }
  const fresh =
    parts && createFresheners(parts, passes, (part, truth) => createFreshener({ ...untold, ...part, truth }))
  const tellAll: Freshener['tell'] = (answer) =>
    fresh?.tell(answer && { ...answer, since: { ...answer.since, snapshot: '1:1:' } })
  const local = {
    ...tier1,
    ...(flaws.vouchAnyDatabase ? { clear: nothing } : {}),
    ...(flaws.longListIsNothing ? { expireAll: nothing } : {}),
  }
  const freshener = fresh && (flaws.freshenAnyCursor ? { ...fresh, tell: tellAll } : fresh)
  const pass = createPass({ ...told, local, news, freshener, onDomains: () => Promise.resolve() })
  const relay = startRelay({ pass, intervalMs: 200, gapMs: 20, onFailure: nothing })
  const tier2Of = (part: ReturnType<typeof makePart>): Tier2 =>
    createTier2({
      ...part,
      config: settings,
      onFallback: nothing,
      onAgeing: (code) => resolver.refresh(code),
      nowMs: () => epochMs + time.nowMs,
    })
  const tier2 = { ...(parts ? inParts(parts.map(tier2Of)) : noTier2) }
  if (flaws.lateCursor) {
    const fill = tier2.fill
    tier2.fill = (code, known) => fill(code, known, tier2.asOf(code))
  }
  const tier3 = createTier3({
    truth,
    breaker: breakerOf(1000),
    config: settings,
    onBatch: nothing,
    onUnanswered: () => surroundings.onUnanswered(process),
  })
  const nearTier =
    near &&
    standby &&
    news &&
    createNearTier({
      near: near.truth,
      state: standby,
      news,
      vouching,
      landingOf: (code) => parts?.of(code).landing,
      config: settings,
      nowMs,
      onBatch: nothing,
    })
  if (nearTier && flaws.nearFillsAny) nearTier.mayFill = () => true
  if (nearTier && flaws.nearIsTruth) believe(nearTier, tier1)
  const resolver: Resolver = createResolver({
    tier1,
    tier2,
    tier3,
    near: nearTier,
    vouching: flaws.vouchAnyLookup ? { passes: 0, noneSince: () => true } : vouching,
    // Otherwise, what is wrong would be put right once a second by asking.
    askEveryMs: index === 0 ? 1000 : 1e9,
    askMostMs: index === 0 ? 3000 : 1e9,
    random: () => time.random(),
    nowMs,
    onFlight: nothing,
    onSaved: nothing,
  })
  const learning = { learn: tier1.learn, amend: tier1.amend, vouching }
  const announcer = parts
    ? createAnnouncer({
        ...learning,
        partitions: parts,
        timeoutMs: 50,
        publish: (code) => {
          const { cache } = parts.of(code)
          if (cache.ready) surroundings.nudge(cache.server, code)
          return Promise.resolve()
        },
        passSoon: relay.soon,
      })
    : announceLocally(learning)
  if (flaws.vouchAnyChange) {
    const announce = announcer.announce.bind(announcer)
    announcer.announce = (code, known, asOf) => announce(code, known, { ...asOf, passes: vouching.passes })
  }
  if (flaws.vouchAnyChangeOfMany) {
    const announceAll = announcer.announceAll.bind(announcer)
    announcer.announceAll = (entries, asOf) => announceAll(entries, { ...asOf, passes: vouching.passes })
  }
  if (flaws.manyAreNotTold) announcer.announceAll = () => Promise.resolve()
  const redis = parts?.map(({ cache }) => cache)
  return Object.assign(process, { redis, tier1, resolver, announcer, relay, stop: () => standby?.stop() })
}

/** The flaws of what is heard. */
function spoilNews(news: News, flaws: Flaws): void {
  if (flaws.nearKnowsAll) news.isKnown = () => true
}

/** Whatever the standby says, tier 1 has nothing newer. */
function believe(nearTier: NearTier, tier1: Tier1): void {
  const { get } = nearTier
  const { hasNewer } = tier1
  let isBelieved = false
  nearTier.get = async (code) => {
    const said = await get(code)
    isBelieved = said !== 'unknown'
    return said
  }
  tier1.hasNewer = (...asked) => {
    const hasIt = !isBelieved && hasNewer(...asked)
    isBelieved = false
    return hasIt
  }
}

/** The flaws of a tier 1. */
function spoil(tier1: Tier1, flaws: Flaws): void {
  const { remember, fallBack, amend } = tier1
  if (flaws.tier1KeepsLast) {
    tier1.remember = (code, known) => {
      tier1.clear()
      tier1.learn(code, known, false)
      return copyOf(known)
    }
  }
  if (flaws.tier1KeepsLast || flaws.redisIsTruth) tier1.hasNewer = () => false
  if (flaws.tier1Outranks) {
    let behindMs = 0
    // Who asks this has an answer of Redis, and gives it to `remember` next.
    tier1.hasNewer = () => {
      behindMs = 800
      return false
    }
    tier1.remember = (code, known, askedMs, vouched) => {
      const copy = remember(code, known, askedMs - behindMs, vouched)
      behindMs = 0
      copy.freshUntilMs = Math.max(copy.freshUntilMs, performance.now() + freshMs)
      return copy
    }
  }
  if (flaws.vouchAbsences) {
    tier1.remember = (...answer) => {
      const copy = remember(...answer)
      copy.vouched ||= answer[3]
      return copy
    }
  }
  if (flaws.vouchUntrusted) {
    tier1.fallBack = (...said) => {
      const copy = fallBack(...said)
      if (copy !== undefined) copy.vouched = true
      return copy
    }
  }
  if (flaws.amendNewerOnly) {
    tier1.amend = (code, known, vouched) =>
      known.version > (tier1.peek(code)?.known.version ?? -1) && amend(code, known, vouched)
  }
}

/** Of Postgres, one way. */
export const replyMs = ({ random }: VirtualTime): number => (random() < 0.95 ? random() * 4 : random() * 90)
