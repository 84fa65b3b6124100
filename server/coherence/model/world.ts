// Long because the world, what happens to it and who judges it are read together.
// Three processes with two Redis servers, one without, one Postgres, and a script of what happens to them. The processes run
// the real code of tiers 1 to 3, of passes, trust, vouching and announcements; only what is behind the connections is
// modelled.
import { Breaker } from '../../connections/breaker.ts'
import { absent, isExpired, isLink, type Answer, type Code, type Known } from '../../link.ts'
import { createResolver, type Found, type Resolver } from '../../redirect/resolve.ts'
import { copyOf, createTier1, type Tier1 } from '../../redirect/tier1-local.ts'
import { createTier2, noTier2 } from '../../redirect/tier2-redis.ts'
import { createTier3 } from '../../redirect/tier3-postgres.ts'
import { announceLocally, createAnnouncer, type Announcer } from '../announce.ts'
import { createFreshener, type Freshener } from '../freshen.ts'
import { createPass } from '../pass.ts'
import { startRelay, type Relay } from '../relay.ts'
import { Trust } from '../trust.ts'
import type { Truth } from '../truth.ts'
import { Vouching } from '../vouching.ts'
import { PostgresModel, type Flaws as PostgresFlaws, type Make, type State } from './postgres-model.ts'
import { RedisClient, RedisServer, type Flaws as RedisFlaws } from './redis-model.ts'
import { epochMs, type VirtualTime } from '../../testing/virtual-time.ts'

export interface Flaws extends PostgresFlaws, RedisFlaws {
  /** Any connection is trusted once there has been a pass. */
  readonly blindTrust?: boolean
  /** A fill carries the cursor as it is when Postgres has answered, not as it was before. */
  readonly lateCursor?: boolean
  /** A nudge brings the link along, and is believed. */
  readonly nudgeIsTruth?: boolean
  /** Tier 1 keeps whatever came last. */
  readonly tier1KeepsLast?: boolean
  /** A copy is vouched for although passes were answered between its asking and its storing. */
  readonly vouchAnyLookup?: boolean
  /** The same for a process' own change: they are counted from the announcement only. */
  readonly vouchAnyChange?: boolean
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
}

/** `which` code it is about, where it is about one; `pick` decides the rest. */
export type Step = { readonly atMs: number; readonly pick: number; readonly which: number } & (
  | {
      readonly what: 'update' | 'disable' | 'enable' | 'delete' | 'create' | 'expire' | 'rollback' | 'gone' | 'bulk'
      readonly openMs: number
    }
  | { readonly what: 'refuse' | 'hole' | 'noPostgres' | 'noPasses'; readonly forMs: number }
  | {
      readonly what:
        | 'flush' | 'evict' | 'pushOut' | 'read' | 'snapshot' | 'restart' | 'replace' | 'failover' | 'split' | 'restore' | 'dump' // prettier-ignore
    }
)

const calmSteps: readonly string[] = [
  'update',
  'disable',
  'enable',
  'delete',
  'create',
  'evict',
  'pushOut',
  'read',
  'noPasses',
]

interface Process {
  /** One of them has none. */
  readonly redis: RedisClient | undefined
  readonly tier1: Tier1
  readonly resolver: Resolver
  readonly announcer: Announcer
  readonly relay: Relay
  postgresUp: boolean
  /** Postgres answers passes: all triggers are on. */
  passesUp: boolean
  /** When its tier 1 was emptied last. */
  pushedOutMs: number
  /** Until when a read may be excused: Postgres could not be asked, or its breaker is still open. */
  excusedUntilMs: number
}

// Two that are always warm in tier 1, and one that is asked for so rarely that only Redis remembers it.
const codes = ['aaa', 'bbb', 'ccc'] as Code[]
/** Nobody asks for them: with the others they make a long list. */
const fillers = ['ddd', 'eee', 'fff'] as Code[]
const allIndexes = [0, 1, 2, 3] as const
const settings = {
  redisTimeoutMs: 50,
  dbTimeoutMs: 100,
  linkTtlS: 3600,
  earlyRefreshZone: 0.2,
  // Much more often than outside, so that a short run lives it.
  earlyRefreshChance: 0.5,
  staleMaxS: 21_600,
}
const promiseMs = 1000
const freshMs = 100
/** Where nothing fails, a new link that Redis has is seen when an absence is over that was asked for before. */
const createdMs = freshMs + settings.redisTimeoutMs + settings.dbTimeoutMs

/** The last cursor that was left in Redis is good, whatever was heard since. */
class HastyVouching extends Vouching {
  #last: string | undefined
  override hasLanded(...[landed, news]: Parameters<Vouching['hasLanded']>): void {
    this.#last = landed.text
    super.hasLanded(landed, news)
  }
  override isCurrent(text: string | null): boolean {
    return text !== null && text === this.#last
  }
}

export class World {
  readonly violations: string[] = []
  readonly time: VirtualTime
  readonly #flaws: Flaws
  readonly #postgres: PostgresModel
  readonly #servers = [new RedisServer(), new RedisServer()] as const
  readonly #processes: Process[]
  #primary: RedisServer
  #snapshots: ReturnType<RedisServer['snapshot']>[] = []
  #dumps: (() => void)[] = []
  /** When the truth itself was replaced: comparisons across it say nothing. */
  #restoredMs = -Infinity
  /** When a Redis went back under its open connections: that is not covered, until a pass has seen it. */
  #replacedMs = -Infinity
  /** Nothing fails in this run, but passes. */
  #isCalm = false
  reads = 0

  constructor(time: VirtualTime, flaws: Flaws = {}) {
    this.time = time
    this.#flaws = flaws
    this.#postgres = new PostgresModel(this.time, flaws)
    this.#primary = this.#servers[0]
    this.#processes = allIndexes.map((index) => this.#startProcess(index))
  }

  async run(steps: readonly Step[], forMs: number): Promise<void> {
    this.#isCalm = steps.every(({ what }) => calmSteps.includes(what))
    // The third one does not exist yet: until somebody makes it, it is a 404.
    for (const code of codes.slice(0, 2)) void this.#change(code, 0, 'create', 0)
    this.#processes.forEach((_, i) => {
      this.#readOn(i, forMs + 2500)
    })
    for (const step of steps) this.time.at(step.atMs, () => void this.#do(step))
    this.time.at(forMs, () => {
      this.#healAll()
    })
    await this.time.runUntil(forMs + 3000)
    while (this.#postgres.busy) await this.time.runUntil(this.time.nowMs + 1000)
    await this.time.runUntil(this.time.nowMs + 2000)
    await this.#compareAtRest()
  }

  // Long because it puts a whole process together, with the place of each flaw.
  #startProcess(index: number): Process {
    const { time } = this
    const flaws = this.#flaws
    const nowMs = (): number => time.nowMs
    const nothing = (): void => undefined
    const redis =
      index === 3
        ? undefined
        : new RedisClient(this.#primary, time, flaws, (code) => {
            this.#violated(`a write to Redis took ${code} back to an older version`)
          })
    const vouching = flaws.vouchBeforeLanding ? new HastyVouching(800) : new Vouching(800)
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
    this.#spoil(tier1)
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
    const process = { postgresUp: true, passesUp: true, excusedUntilMs: -1, pushedOutMs: -1 }
    const truth = this.#postgres.truth(async () => {
      await time.sleep(this.#replyMs())
      if (!process.postgresUp) throw new Error('Postgres is away')
    })
    const changesSince: Truth['changesSince'] = (cursor) =>
      process.passesUp ? truth.changesSince(cursor) : Promise.reject(new Error('a trigger is off'))
    const passes = { ...truth, changesSince }
    const onGoneBack = (): Promise<void> => Promise.resolve()
    const told = { onApplied: nothing, onGoneBack, nowMs, vouching, truth: passes }
    const prepare = onGoneBack
    const fresh = redis && createFreshener({ ...told, cache: redis, trust, onWipe: nothing, prepare })
    const freshen: Freshener['freshen'] = async (answer) => {
      if (!flaws.freshenAnyCursor || !answer) return fresh?.freshen(answer)
      return fresh?.freshen({ ...answer, since: { ...answer.since, snapshot: '1:1:' } })
    }
    const local = {
      ...tier1,
      ...(flaws.vouchAnyDatabase ? { clear: nothing } : {}),
      ...(flaws.longListIsNothing ? { expireAll: nothing } : {}),
    }
    const freshener = fresh && {
      get ready() {
        return fresh.ready
      },
      freshen,
      distrust: fresh.distrust,
    }
    const pass = createPass({ ...told, local, freshener, onFailure: nothing })
    const relay = startRelay({ pass, intervalMs: 200, gapMs: 20, onFailure: nothing })
    const breakerOf = (openMs: number): Breaker => new Breaker({ failures: 5, windowMs: 10_000, openMs, nowMs })
    const breaker = breakerOf(3000)
    const anyCursor = { isCurrent: () => vouching.landed !== undefined }
    const tier2 = redis
      ? createTier2({
          cache: redis,
          trust,
          vouching: flaws.vouchAnyCursor ? anyCursor : vouching,
          breaker,
          config: settings,
          onFallback: nothing,
          onAgeing: (code) => {
            resolver.refresh(code)
          },
          nowMs: () => epochMs + time.nowMs,
        })
      : { ...noTier2 }
    if (flaws.lateCursor) {
      const fill = tier2.fill
      tier2.fill = (code, known) => {
        fill(code, known, tier2.asOf())
      }
    }
    const tier3 = createTier3({
      truth,
      breaker: breakerOf(1000),
      config: settings,
      onBatch: nothing,
      onUnanswered: () => {
        this.#excuse(process)
      },
    })
    const resolver: Resolver = createResolver({
      tier1,
      tier2,
      tier3,
      vouching: flaws.vouchAnyLookup ? { passes: 0, noneSince: () => true } : vouching,
      // Otherwise, what is wrong would be put right once a second by asking.
      askEveryMs: index === 0 ? promiseMs : Infinity,
      nowMs,
      onFlight: nothing,
      onSaved: nothing,
    })
    const learning = { learn: tier1.learn, vouching }
    const announcer = redis
      ? createAnnouncer({
          ...learning,
          cache: redis,
          breaker,
          timeoutMs: 50,
          publish: (code) => {
            this.#nudge(redis.server, code)
            return Promise.resolve()
          },
          passSoon: relay.soon,
        })
      : announceLocally(learning)
    if (flaws.vouchAnyChange) {
      const announce = announcer.announce.bind(announcer)
      announcer.announce = (code, known, asOf) => announce(code, known, { ...asOf, passes: vouching.passes })
    }
    return Object.assign(process, { redis, tier1, resolver, announcer, relay })
  }

  /** The flaws of a tier 1. */
  #spoil(tier1: Tier1): void {
    const flaws = this.#flaws
    const { remember, fallBack, amend } = tier1
    if (flaws.tier1KeepsLast) {
      tier1.remember = (code, known) => {
        tier1.clear()
        tier1.learn(code, known, false)
        return copyOf(known)
      }
    }
    if (flaws.vouchAbsences) {
      tier1.remember = (...answer) => {
        const copy = remember(...answer)
        copy.vouched ||= answer[4]
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
      tier1.amend = (code, known) => known.version > (tier1.peek(code)?.known.version ?? -1) && amend(code, known)
    }
  }

  #replyMs(): number {
    return this.time.random() < 0.95 ? this.time.random() * 4 : this.time.random() * 90
  }

  /** To whoever listens at that Redis; soon, late or not at all. */
  #nudge(server: RedisServer, code: Code): void {
    const known = this.#postgres.state(code)
    for (const { redis, tier1, relay } of this.#processes) {
      const dice = this.time.random()
      if (dice < 0.2 || redis?.server !== server) continue
      this.time.at(this.time.nowMs + (dice < 0.3 ? 3000 : 5) * this.time.random(), () => {
        if (redis.server !== server || !server.up || server.hole) return
        if (this.#flaws.nudgeIsTruth) {
          tier1.clear()
          tier1.learn(code, known, false)
        } else tier1.expire(code)
        relay.soon()
      })
    }
  }

  #anyCode(): Code {
    const dice = this.time.random()
    return codes[dice < 0.6 ? 0 : dice < 0.97 ? 1 : 2] as Code
  }

  #excuse(process: { excusedUntilMs: number }): void {
    process.excusedUntilMs = this.time.nowMs + promiseMs + 500
  }

  #readOn(index: number, untilMs: number): void {
    const again = (): void => {
      if (this.time.nowMs > untilMs) return
      void this.#read(index, this.#anyCode())
      this.time.at(this.time.nowMs + 5 + this.time.random() * 40, again)
    }
    again()
  }

  async #read(index: number, code: Code): Promise<void> {
    const process = this.#processes[index] as Process
    const beganMs = this.time.nowMs
    const local = process.resolver.local(code)
    const answer = local ? local.known : knownIn(await process.resolver.ask(code))
    this.reads++
    this.time.note(`process ${index} says of ${code} ${say(answer)}`)
    if (answer === undefined || answer === 'unknown') return
    if (!process.postgresUp || process.excusedUntilMs > beganMs) return
    if (beganMs - Math.max(this.#restoredMs, this.#replacedMs) < promiseMs + 500) return
    const nowMs = this.time.nowMs
    const states = this.#postgres.history.get(code) ?? []
    const fine = states.some((state, i) => this.#mayAnswer(answer, state, states[i + 1], index, beganMs, nowMs))
    const before = states.length === 0 || (states[0] as State).acknowledgedMs > beganMs - promiseMs
    if (!fine && !(before && !isLink(answer))) {
      this.#violated(`process ${index} was asked for ${code} at ${beganMs.toFixed(1)} and said ${say(answer)}`)
    }
  }

  /** A state may be answered until its successor has been acknowledged for a second; by its own process, not at all. */
  #mayAnswer(
    answer: Known,
    state: State,
    next: State | undefined,
    by: number,
    beganMs: number,
    nowMs: number,
  ): boolean {
    const created = this.#isCalm && next?.isInRedis === true && !isLink(state.known)
    // Its own change is known to a process as long as it holds it.
    const own = next?.by === by && next.learnedMs > (this.#processes[by] as Process).pushedOutMs
    const graceMs = own ? 0 : created ? createdMs : promiseMs
    if (next !== undefined && beganMs > next.acknowledgedMs + graceMs) return false
    const said = isLink(answer) && !isExpired(answer, epochMs + nowMs) ? answer : undefined
    const was = isLink(state.known) ? state.known : undefined
    if (said === undefined) return was === undefined || isExpired(was, epochMs + nowMs)
    return said.version === was?.version && said.url === was.url
  }

  async #change(code: Code, by: number | undefined, what: string, openMs: number): Promise<void> {
    const process = by === undefined ? undefined : this.#processes[by]
    if (process && !process.postgresUp) return
    const asOf = process?.announcer.asOf()
    const make: Make = (code, before, version, newId) => {
      if (what === 'gone') return 'gone'
      const url = `https://example.org/${version}`
      const link = isLink(before)
        ? { ...before, url, version }
        : { code, id: newId(), url, permanent: false, expiresAtS: null, monthlyHits: null, version }
      if (what === 'expire') return { ...link, expiresAtS: Math.ceil((epochMs + this.time.nowMs) / 1000) + 1 }
      return what === 'disable' || what === 'delete' ? absent(version) : { ...link, expiresAtS: null }
    }
    const changed = what === 'bulk' ? [...codes, ...fillers] : [code]
    const states = await this.#postgres.change(changed, make, openMs, what === 'rollback')
    for (const state of states) {
      if (process && asOf) {
        // The answer of Postgres is under way, too.
        await this.time.sleep(this.#replyMs())
        state.learnedMs = this.time.nowMs
        await process.announcer.announce(code, state.known, asOf)
        const held = process.redis?.server.keys.links.get(code)
        state.isInRedis = held !== undefined && same(held, state.known)
      }
      state.acknowledgedMs = this.time.nowMs
      state.by = by
    }
  }

  async #do(step: Step): Promise<void> {
    const any = <T>(list: readonly T[]): T => list[Math.floor(step.pick * list.length)] as T
    switch (step.what) {
      case 'refuse':
        return this.#down(any(this.#servers), step.forMs)
      case 'hole':
        return this.#swallow(any(this.#servers), step.forMs)
      case 'noPostgres': {
        const process = any(this.#processes)
        process.postgresUp = false
        await this.time.sleep(step.forMs)
        process.postgresUp = true
        return this.#excuse(process)
      }
      case 'noPasses': {
        const process = any(this.#processes)
        process.passesUp = false
        await this.time.sleep(step.forMs)
        process.passesUp = true
        return
      }
      case 'flush':
        return this.#primary.flush()
      case 'evict':
        return this.#primary.evict(codes[Math.floor(step.which * codes.length)] as Code)
      case 'pushOut':
        return this.#pushOut(this.#processes[this.#anyProcess(step)] as Process)
      case 'read':
        return this.#read(this.#anyProcess(step), codes[Math.floor(step.which * codes.length)] as Code)
      case 'snapshot':
        return void this.#snapshots.push(this.#primary.snapshot())
      case 'restart': {
        const old = this.#snapshots.at(-1)
        await this.#down(this.#primary, 30)
        return old && this.#primary.restore(old)
      }
      case 'replace': {
        const old = this.#snapshots.at(-1)
        if (old) this.#primary.restore(old)
        this.#replacedMs = this.time.nowMs
        return
      }
      case 'failover':
        return this.#failOver(this.#processes)
      case 'split':
        return this.#failOver(this.#processes.slice(0, 2))
      case 'dump':
        return void this.#dumps.push(this.#postgres.dump())
      case 'restore':
        this.#dumps.at(-1)?.()
        this.#restoredMs = this.time.nowMs
        for (const states of this.#postgres.history.values()) {
          const last = states.at(-1)
          if (last) last.acknowledgedMs = this.time.nowMs
        }
        return
      default: {
        const byHand = step.pick < 0.25 || step.what === 'gone' || step.what === 'bulk'
        return this.#change(
          codes[Math.floor(step.which * codes.length)] as Code,
          byHand ? undefined : this.#anyProcess(step),
          step.what,
          step.openMs,
        )
      }
    }
  }

  /** Of tier 1, by other links. */
  #pushOut(process: Process): void {
    process.tier1.clear()
    process.pushedOutMs = this.time.nowMs
  }

  #anyProcess({ pick }: Step): number {
    return Math.floor(pick * 97) % this.#processes.length
  }

  async #down(server: RedisServer, forMs: number): Promise<void> {
    server.up = false
    this.#reconnect(server)
    await this.time.sleep(forMs)
    server.up = true
    this.#reconnect(server)
  }

  async #swallow(server: RedisServer, forMs: number): Promise<void> {
    server.hole = true
    await this.time.sleep(forMs)
    server.hole = false
    if (forMs > 1000) this.#reconnect(server)
  }

  #reconnect(server: RedisServer): void {
    for (const { redis } of this.#processes) if (redis?.server === server) redis.reconnect()
  }

  /** To a replica that was cut off when the last snapshot was taken. */
  #failOver(processes: readonly Process[]): void {
    const replica = this.#primary === this.#servers[0] ? this.#servers[1] : this.#servers[0]
    replica.restore(this.#snapshots.at(-1) ?? this.#primary.snapshot())
    this.#primary = replica
    // Whoever talks to it already is disconnected: Sentinel kills the clients of a server whose role it changes.
    this.#reconnect(replica)
    for (const { redis } of processes) if (redis && redis.server !== replica) redis.reconnect(replica)
  }

  #healAll(): void {
    for (const server of this.#servers) {
      server.up = true
      server.hole = false
    }
    for (const process of this.#processes) process.postgresUp = process.passesUp = true
  }

  async #compareAtRest(): Promise<void> {
    for (const [index, process] of this.#processes.entries()) {
      for (const code of codes) {
        const truth = this.#postgres.state(code)
        const asked = process.resolver.ask(code)
        await this.time.runUntil(this.time.nowMs + 500)
        const answer = knownIn(await asked)
        if (answer === undefined || answer === 'unknown' || !same(answer, truth)) {
          this.#violated(`at rest, process ${index} says of ${code} ${say(answer)}, Postgres says ${say(truth)}`)
        }
        if (process.redis === undefined) continue
        const { links, hints } = process.redis.server.keys
        const held = links.get(code)
        if (held && !same(held, truth)) this.#violated(`at rest, Redis holds ${say(held)}, not ${say(truth)}`)
        if (!held && hints.has(code) && isLink(truth)) this.#violated(`at rest, Redis hides ${code} behind a hint`)
      }
    }
  }

  #violated(what: string): void {
    if (this.violations.length < 5) this.violations.push(`${this.time.nowMs.toFixed(1)} ms: ${what}`)
  }
}

const knownIn = (found: Found | undefined): Answer | undefined =>
  found === undefined ? undefined : found.copy === 'unknown' ? 'unknown' : found.copy.known

const same = (a: Known, b: Known): boolean =>
  isLink(a) && isLink(b) ? a.version === b.version && a.url === b.url : isLink(a) === isLink(b)

const say = (known: Known | 'unknown' | undefined): string =>
  known === undefined || known === 'unknown' ? 'nothing' : `${isLink(known) ? known.url : 'absent'} (v${known.version})`
