// Long because what happens to the world and who judges it are read together.
// Three processes with a Redis and its replica (or a cluster: partitions on two nodes), one without, one Postgres, and a script of
// what happens to them. The processes run the real code (process.ts); only what is behind the connections is modelled.
import { absent, agree, isLink, type Answer, type Code, type Known, type Link } from '../../link.ts'
import { Partitions } from '../../connections/partitions.ts'
import type { Found } from '../../redirect/resolve.ts'
import { firstThatFits } from '../../redirect/rules.ts'
import type { AsOf } from '../announce.ts'
import type { NearTruth } from '../truth.ts'
import { PostgresModel, StandbyModel, type Make, type State } from './postgres-model.ts'
import { freshMs, replyMs, settings, startProcess, type Flaws, type Near, type Process } from './process.ts'
import { RedisServer } from './redis-model.ts'
import { epochMs, type VirtualTime } from '../../../testing/virtual-time.ts'
import { plain } from '../../../testing/links.ts'

/** `which` code it is about, where it is about one; `pick` decides the rest. */
export type Step = { readonly atMs: number; readonly pick: number; readonly which: number } & (
  | {
      readonly what:
        | 'update' | 'disable' | 'enable' | 'delete' | 'create' | 'expire' | 'schedule' | 'guide' | 'protect' | 'rollback' | 'gone' | 'bulk' | 'many' // prettier-ignore
      readonly openMs: number
    }
  | {
      readonly what: 'refuse' | 'hole' | 'move' | 'noPostgres' | 'noPasses' | 'pause' | 'noStandby'
      readonly forMs: number
    }
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
  'guide',
  'protect',
  'evict',
  'pushOut',
  'read',
  'noPasses',
]

// Two that are always warm in tier 1, with one name on two domains, and one that is asked for so rarely that only Redis remembers it.
const codes = ['aaa', 'go.example/aaa', 'ccc'] as Code[]
/** Nobody asks for them: with the others they make a long list. */
const fillers = ['ddd', 'eee', 'fff'] as Code[]
const allIndexes = [0, 1, 2, 3] as const
const promiseMs = 1000
/** Where nothing fails, a new link that Redis has is seen when an absence is over that was asked for before. */
const createdMs = freshMs + settings.redisTimeoutMs + settings.dbTimeoutMs

export class World {
  readonly violations: string[] = []
  readonly time: VirtualTime
  readonly #flaws: Flaws
  readonly #postgres: PostgresModel
  /** One; of a cluster several, every other one on the same node. */
  readonly #parts: Partitions<Part>
  readonly #processes: Process[]
  readonly #standbys: readonly StandbyModel[]
  readonly #areUp: boolean[]
  #snapshots: Map<Part, ReturnType<RedisServer['snapshot']>>[] = []
  #dumps: (() => void)[] = []
  /** When the truth itself was replaced: comparisons across it say nothing. */
  #restoredMs = -Infinity
  /** When a Redis went back under its open connections: that is not covered, until a pass has seen it. */
  #replacedMs = -Infinity
  /** Nothing fails in this run, but passes. */
  #isCalm = false
  reads = 0

  constructor(time: VirtualTime, flaws: Flaws = {}, standbys = 0, partitions = 1) {
    this.time = time
    this.#flaws = flaws
    this.#postgres = new PostgresModel(this.time, flaws)
    this.#standbys = Array.from({ length: standbys }, () => new StandbyModel(this.#postgres, time, flaws))
    this.#areUp = this.#standbys.map(() => true)
    this.#parts = new Partitions(Array.from({ length: partitions }, newPart))
    this.#processes = allIndexes.map((index) =>
      startProcess(index, index === 3 ? [] : this.#parts.all.map(({ primary }) => primary), {
        time,
        flaws,
        near: standbys === 0 || index === 0 ? undefined : this.#nearOf(index),
        truthFor: (reach) => this.#postgres.truth(reach),
        nudge: (server, code) => this.#nudge(server, code),
        onUnanswered: (process) => this.#excuse(process),
        onLowered: (code) => this.#violated(`a write to Redis took ${code} back to an older version`),
      }),
    )
  }

  /** One has both standbys behind one address, and each question leads to either. */
  #nearOf(index: number): Near {
    const truths = this.#standbys.map((standby, n) =>
      standby.truth(async () => {
        await this.time.sleep(replyMs(this.time))
        if (!this.#areUp[n]) throw new Error('the standby is away')
      }),
    )
    const any = (): NearTruth => truths[index === 2 ? Math.floor(this.time.random() * truths.length) : 0] as NearTruth
    const read: NearTruth['read'] = async (codes) => {
      const said = await any().read(codes)
      if (!this.#flaws.nearByAnother) return said
      return { ...said, asOf: (await any().read([])).asOf }
    }
    return {
      truth: { read, changesSince: (cursor) => any().changesSince(cursor), beat: () => any().beat() },
      beat: (reach) => this.#postgres.beat(reach),
    }
  }

  async run(steps: readonly Step[], forMs: number): Promise<void> {
    this.#isCalm = steps.every(({ what }) => calmSteps.includes(what))
    // The third one does not exist yet: until somebody makes it, it is a 404.
    for (const code of codes.slice(0, 2)) void this.#change(code, 0, 'create', 0)
    this.#processes.forEach((_, i) => this.#readOn(i, forMs + 2500))
    for (const standby of this.#standbys) standby.follow(forMs + 10_000)
    for (const step of steps) this.time.at(step.atMs, () => void this.#do(step))
    this.time.at(forMs, () => this.#healAll())
    await this.time.runUntil(forMs + 3000)
    while (this.#postgres.busy) await this.time.runUntil(this.time.nowMs + 1000)
    await this.time.runUntil(this.time.nowMs + 2000)
    await this.#compareAtRest()
    for (const { stop } of this.#processes) stop()
  }

  /** To whoever listens at that Redis; soon, late or not at all. */
  #nudge(server: RedisServer, code: Code): void {
    const known = this.#postgres.state(code)
    for (const { redis, tier1, relay } of this.#processes) {
      const dice = this.time.random()
      const client = redis?.of(code)
      if (dice < 0.2 || client?.server !== server) continue
      this.time.at(this.time.nowMs + (dice < 0.3 ? 3000 : 5) * this.time.random(), () => {
        if (client.server !== server || !server.up || server.hole) return
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
    const [said, was] = [answer, state.known].map((known) => leadsTo(known, epochMs + nowMs))
    return said === was && (said === undefined || answer.version === state.known.version)
  }

  async #change(code: Code, by: number | undefined, what: string, openMs: number): Promise<void> {
    const process = by === undefined ? undefined : this.#processes[by]
    if (process && !process.postgresUp) return
    const asOf = process?.announcer.asOf()
    const make: Make = (code, before, version, newId) => {
      if (what === 'gone') return 'gone'
      const url = `https://example.org/${version}`
      const link: Link = { ...plain, code, id: isLink(before) ? before.id : newId(), url, version }
      const soonS = Math.ceil((epochMs + this.time.nowMs) / 1000) + 1
      if (what === 'schedule') return { ...link, startsAtS: soonS }
      if (what === 'protect') return { ...link, url: '', special: 'password' }
      // Until then by the rule, and by the url for all others after that.
      if (what === 'guide') return { ...link, special: [{ when: { beforeS: soonS }, url: `${url}/early` }] }
      const expiredUrl = version % 2 === 0 ? `${url}/over` : null
      if (what === 'expire') return { ...link, expiresAtS: soonS, expiredUrl }
      return what === 'disable' || what === 'delete' ? absent(version) : link
    }
    const changed = what === 'bulk' ? [...codes, ...fillers] : what === 'many' ? codes : [code]
    const states = await this.#postgres.change(changed, make, openMs, what === 'rollback')
    if (what === 'many' && process && asOf && by !== undefined) return this.#tellMany(states, process, by, asOf)
    for (const state of states) {
      if (process && asOf) {
        // The answer of Postgres is under way, too.
        await this.time.sleep(replyMs(this.time))
        state.learnedMs = this.time.nowMs
        await process.announcer.announce(code, state.known, asOf)
        const held = process.redis?.of(code).server.keys.links.get(code)
        state.isInRedis = held !== undefined && agree(held, state.known)
      }
      state.acknowledgedMs = this.time.nowMs
      state.by = by
    }
  }

  /** One request has changed them all. What its process does not hold, it hears of as any other does. */
  async #tellMany(states: readonly State[], process: Process, by: number, asOf: AsOf): Promise<void> {
    await this.time.sleep(replyMs(this.time))
    const entries = states.map(({ known }, n) => ({ code: codes[n] as Code, known }))
    const isHeld = entries.map(({ code }) => process.tier1.peek(code) !== undefined)
    const learnedMs = this.time.nowMs
    await process.announcer.announceAll(entries, asOf)
    for (const [n, state] of states.entries()) {
      state.acknowledgedMs = this.time.nowMs
      if (isHeld[n]) Object.assign(state, { by, learnedMs })
    }
  }

  async #do(step: Step): Promise<void> {
    const any = <T>(list: readonly T[]): T => list[Math.floor(step.pick * list.length)] as T
    switch (step.what) {
      case 'refuse':
        return void (await Promise.all(this.#serversOn(step).map((server) => this.#down(server, step.forMs))))
      case 'hole':
        return void (await Promise.all(this.#serversOn(step).map((server) => this.#swallow(server, step.forMs))))
      case 'move':
        return this.#move(any(this.#parts.all), step.forMs)
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
      case 'pause': {
        const standby = any(this.#standbys)
        standby.isPaused = true
        await this.time.sleep(step.forMs)
        standby.isPaused = false
        return
      }
      case 'noStandby': {
        const index = Math.floor(step.pick * this.#standbys.length)
        this.#areUp[index] = false
        await this.time.sleep(step.forMs)
        this.#areUp[index] = true
        return
      }
      case 'flush':
        for (const { primary } of this.#on(step)) primary.flush()
        return
      case 'evict': {
        const code = codes[Math.floor(step.which * codes.length)] as Code
        return this.#parts.of(code).primary.evict(code)
      }
      case 'pushOut':
        return this.#pushOut(this.#processes[this.#anyProcess(step)] as Process)
      case 'read':
        return this.#read(this.#anyProcess(step), codes[Math.floor(step.which * codes.length)] as Code)
      case 'snapshot':
        return void this.#snapshots.push(new Map(this.#parts.all.map((part) => [part, part.primary.snapshot()])))
      case 'restart': {
        const old = this.#snapshots.at(-1)
        const parts = this.#on(step)
        await Promise.all(parts.map(({ primary }) => this.#down(primary, 30)))
        for (const part of parts) if (old) part.primary.restore(old.get(part)!)
        return
      }
      case 'replace': {
        const old = this.#snapshots.at(-1)
        for (const part of this.#on(step)) if (old) part.primary.restore(old.get(part)!)
        this.#replacedMs = this.time.nowMs
        return
      }
      case 'failover':
        for (const part of this.#on(step)) this.#failOver(part, this.#processes)
        return
      case 'split':
        for (const part of this.#on(step)) this.#failOver(part, this.#processes.slice(0, 2))
        return
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
    for (const { redis } of this.#processes)
      for (const client of redis?.all ?? []) if (client.server === server) client.reconnect()
  }

  /** Of a cluster, what is on one of its nodes; not what is half on the other one. */
  #on({ pick }: Step): readonly Part[] {
    const { all } = this.#parts
    const node = pick < 0.5 ? 0 : 1
    return all.length === 1 ? all : all.filter(({ primary }, n) => n % 2 === node && primary.leaving === undefined)
  }

  #serversOn(step: Step): readonly RedisServer[] {
    const [only] = this.#parts.all
    if (this.#parts.all.length === 1 && only) return [only.servers[Math.floor(step.pick * 2)] as RedisServer]
    return this.#on(step).map(({ primary }) => primary)
  }

  /** To a replica that was cut off when the last snapshot was taken. */
  #failOver(part: Part, processes: readonly Process[]): void {
    const replica = otherOf(part)
    replica.restore(this.#snapshots.at(-1)?.get(part) ?? part.primary.snapshot())
    replica.owner = undefined
    part.primary = replica
    // Whoever talks to it already is disconnected: Sentinel kills the clients of a server whose role it changes.
    this.#reconnect(replica)
    for (const { redis } of processes) {
      const client = redis?.all[this.#parts.all.indexOf(part)]
      if (client && client.server !== replica) client.reconnect(replica)
    }
  }

  /** The slot of a partition, to a node that had nothing of it. */
  async #move(part: Part, forMs: number): Promise<void> {
    if (part.primary.leaving !== undefined) return
    part.primary.beginMove(otherOf(part), this.time.random)
    await this.time.sleep(forMs)
    this.#endMove(part)
  }

  #endMove(part: Part): void {
    const to = part.primary.leaving
    if (to === undefined) return
    part.primary.endMove(to)
    part.primary = to
  }

  #healAll(): void {
    for (const standby of this.#standbys) standby.isPaused = false
    this.#areUp.fill(true)
    for (const part of this.#parts.all) {
      this.#endMove(part)
      for (const server of part.servers) {
        server.up = true
        server.hole = false
      }
    }
    for (const process of this.#processes) process.postgresUp = process.passesUp = true
  }

  /** Postgres may be late by chance: then it is asked again. */
  async #sayAtRest(process: Process, code: Code): Promise<Answer | undefined> {
    for (;;) {
      const asked = process.resolver.ask(code)
      await this.time.runUntil(this.time.nowMs + 500)
      const answer = knownIn(await asked)
      if (process.excusedUntilMs < this.time.nowMs) return answer
    }
  }

  async #compareAtRest(): Promise<void> {
    for (const [index, process] of this.#processes.entries()) {
      for (const code of codes) {
        const truth = this.#postgres.state(code)
        const answer = await this.#sayAtRest(process, code)
        if (answer === undefined || answer === 'unknown' || !agree(answer, truth)) {
          this.#violated(`at rest, process ${index} says of ${code} ${say(answer)}, Postgres says ${say(truth)}`)
        }
        if (process.redis === undefined) continue
        const { links, hints } = process.redis.of(code).server.keys
        const held = links.get(code)
        if (held && !agree(held, truth)) this.#violated(`at rest, Redis holds ${say(held)}, not ${say(truth)}`)
        if (!held && hints.has(code) && isLink(truth)) this.#violated(`at rest, Redis hides ${code} behind a hint`)
      }
    }
  }

  #violated(what: string): void {
    if (this.violations.length < 5) this.violations.push(`${this.time.nowMs.toFixed(1)} ms: ${what}`)
  }
}

interface Part {
  readonly servers: readonly [RedisServer, RedisServer]
  primary: RedisServer
}

function newPart(): Part {
  const servers = [new RedisServer(), new RedisServer()] as const
  return { servers, primary: servers[0] }
}

const otherOf = ({ servers, primary }: Part): RedisServer => (primary === servers[0] ? servers[1] : servers[0])

const knownIn = (found: Found | undefined): Answer | undefined =>
  found === undefined ? undefined : found.copy === 'unknown' ? 'unknown' : found.copy.known

const say = (known: Known | 'unknown' | undefined): string =>
  known === undefined || known === 'unknown'
    ? 'nothing'
    : `${isLink(known) ? leadOf(known) : 'absent'} (v${known.version})`

const leadOf = ({ url, special }: Link): string =>
  special === undefined ? url : special === 'password' ? 'a password' : `${url} by rules`

const nobody = { userAgent: undefined, acceptLanguage: undefined, query: '' }

/** Where a visitor is led by it at that time, or what is asked of him. */
function leadsTo(known: Known, nowMs: number): string | undefined {
  if (!isLink(known)) return undefined
  const { startsAtS, expiresAtS, expiredUrl, url, special } = known
  if (startsAtS !== null && nowMs < startsAtS * 1000) return undefined
  const rule = special === 'password' ? undefined : firstThatFits(special ?? [], nobody, () => nowMs)
  const led = special === 'password' ? 'a password' : (rule?.url ?? url)
  return expiresAtS !== null && expiresAtS * 1000 <= nowMs ? (expiredUrl ?? undefined) : led
}
