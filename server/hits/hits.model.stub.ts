// A world of processes, one Redis and one Postgres in virtual time, for the model test of hits. The processes run the real
// hit quota, and the real scripts in a real Redis. Postgres is modelled, and so are the sockets: a request or a reply may be
// lost, and a command may be carried out long after its asker has given up.
// Long because all that happens to a hit happens in one world.
import { pause } from '../connections/deadline.ts'
import type { RedisConnection } from '../connections/redis.ts'
import type { Code, Link } from '../link.ts'
import { singleKeys } from '../redis-keys.ts'
import type { VirtualTime } from '../../testing/virtual-time.ts'
import { DatabaseClock } from './database-clock.ts'
import { createHitCounters } from './hit-counters.ts'
import { HitQuota } from './hit-quota.ts'
import { createHitSupply } from './hit-supply.ts'
import type { Grant, Granted, Step as GrantStep } from './store.ts'
import { plain } from '../../testing/links.ts'

export interface Flaws {
  /** Whatever is in Redis is believed: all servers look the same. */
  readonly noRunCheck?: boolean
  /** A script does something else. */
  readonly script?: (lua: string) => string
  /** The Redis client sends again what was not answered. */
  readonly resends?: boolean
  /** Hits are handed out before they are known to be granted. */
  readonly spendsFirst?: boolean
  /** A counter is the code's, not the link's. */
  readonly inherits?: boolean
  /** HEAD asks for hits, as GET does. */
  readonly looksByTaking?: boolean
}

export interface Step {
  readonly atMs: number
  readonly what:
    | 'hits' | 'heads' | 'evict' | 'flush' | 'snapshot' | 'restore' | 'kill' | 'stop' | 'limit' | 'recreate' | 'lossy'
    | 'noPostgres' // prettier-ignore
  readonly which: number
  readonly amount: number
}

const answerMs = 5
const deadlineMs = 50
const beforeMonthEndMs = 1500
const monthEndsMs = Date.UTC(2027, 0, 1)
/** Of the scripts' arguments. */
const [linkIdArg, lifeArg] = [2, 7]
const keysOf = (of: string): string[] => ['2026-12', '2027-01'].flatMap((month) => singleKeys.hits(of, month))
const copyLua = `
for i, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then redis.call('COPY', key, ARGV[i], 'REPLACE') else redis.call('UNLINK', ARGV[i]) end
end`

const leftLua = `
local answer = {}
for i = 1, #KEYS, 2 do
  local of = redis.call('HMGET', KEYS[i + 1], 'owner', 'run')
  if of[2] == ARGV[1] then table.insert(answer, of[1] .. '=' .. (redis.call('GET', KEYS[i]) or 0) .. '=' .. KEYS[i]) end
end
return answer`

/** Each has a code of its own: a search that is interrupted may still go on beside the next one. */
let worlds = 0

type Fate = 'fine' | 'never sent' | 'reply lost' | 'late'

export class World {
  readonly served = new Map<string, number>()
  readonly granted = new Map<string, number>()
  readonly #flaws: Flaws
  readonly #time: VirtualTime
  readonly #code = `world-${++worlds}` as Code
  readonly #keys = keysOf(this.#code)
  /** Of a code that nobody asks for. */
  readonly #kept = keysOf(`${this.#code}-kept`)
  #link: Link
  readonly #redis: RedisConnection
  /** Which start of Redis it is: every connection is one to this. */
  #run = 1
  #hasSnapshot = false
  #lossyUntilMs = 0
  #noPostgresUntilMs = 0
  #processes: { quota: HitQuota; prepare: () => Promise<void>; alive: boolean }[] = []

  constructor(time: VirtualTime, redis: RedisConnection, limit: number, flaws: Flaws) {
    this.#time = time
    this.#redis = redis
    this.#flaws = flaws
    this.#link = {
      code: this.#code,
      id: 1,
      url: 'https://a/',
      ...plain,
      monthlyHits: limit,
      version: 1,
    }
    for (let n = 0; n < 4; n++) this.#processes.push(this.#process())
  }

  get #nowMs(): number {
    return this.#time.nowMs
  }
  get #databaseMs(): number {
    return monthEndsMs - beforeMonthEndMs + this.#nowMs
  }
  get #month() {
    const first = this.#databaseMs < monthEndsMs
    return first ? { name: '2026-12', endsMs: monthEndsMs } : { name: '2027-01', endsMs: Date.UTC(2027, 1, 1) }
  }

  async do({ what, which, amount }: Step): Promise<void> {
    const target = this.#processes[which % this.#processes.length]!
    switch (what) {
      case 'hits':
        for (let n = 0; n < amount; n++) this.#ask(target)
        break
      case 'heads':
        for (let n = 0; n < amount; n++) this.#look(target)
        break
      case 'evict':
        await this.#real((redis) => redis.unlink([this.#keys[amount % this.#keys.length]!]))
        break
      case 'flush':
        await this.#real((redis) => redis.unlink(this.#keys))
        break
      case 'snapshot':
        this.#hasSnapshot = true
        await this.#copy(this.#keys, this.#kept)
        break
      case 'restore':
        if (!this.#hasSnapshot) break
        // A restart with older data, or a replica that lagged and is promoted: connections are made anew.
        this.#run++
        await this.#copy(this.#kept, this.#keys)
        break
      case 'kill':
        target.alive = false
        this.#processes[which % this.#processes.length] = this.#process()
        break
      case 'stop':
        await target.quota.close()
        this.#processes[which % this.#processes.length] = this.#process()
        break
      case 'limit':
        this.#link = { ...this.#link, version: this.#link.version + 1, monthlyHits: Math.max(1, amount) }
        break
      case 'recreate':
        this.#link = { ...this.#link, version: this.#link.version + 1, id: this.#link.id + 1 }
        break
      case 'lossy':
        this.#lossyUntilMs = this.#nowMs + 20 * amount
        break
      case 'noPostgres':
        this.#noPostgresUntilMs = this.#nowMs + 10 * amount
        break
    }
  }

  #ask(process: { quota: HitQuota; alive: boolean }): void {
    const lease = process.quota.leaseOf(this.#link)
    if (!lease) return
    const { id } = this.#link
    const serve = (): void => {
      if (!process.alive) return
      const key = `${id}/${this.#month.name}`
      this.served.set(key, (this.served.get(key) ?? 0) + 1)
      this.#time.note(`a hit of ${key}`)
    }
    if (lease.spend(performance.now())) serve()
    else void process.quota.acquire(lease, () => process.alive).then((verdict) => verdict === 'granted' && serve())
  }

  #look({ quota }: { quota: HitQuota }): void {
    const lease = quota.leaseOf(this.#link)
    if (!lease) return
    // As it was: who looks asks for a bundle.
    void (this.#flaws.looksByTaking ? quota.acquire(lease, () => true) : quota.look(lease))
  }

  #fate(): Fate {
    if (this.#nowMs > this.#lossyUntilMs) return 'fine'
    return (['fine', 'fine', 'never sent', 'reply lost', 'late'] as const)[Math.floor(this.#time.random() * 5)]!
  }

  #real<T>(work: (redis: RedisConnection) => Promise<T>): Promise<T> {
    return this.#time.outside(() => work(this.#redis))
  }
  #copy(from: readonly string[], to: readonly string[]): Promise<unknown> {
    return this.#real((redis) => redis.script('qlTestCopy', copyLua)(from, to))
  }

  /** A command over a socket. */
  async #send<T>(run: () => T | Promise<T>, resends = false): Promise<T> {
    const fate = this.#fate()
    await pause(this.#time.random() * answerMs)
    if (fate === 'fine') {
      const answer = await run()
      await pause(this.#time.random() * answerMs)
      return answer
    }
    if (fate === 'reply lost') await run()
    if (fate === 'late')
      setTimeout(
        () => void new Promise((resolve) => void resolve(run())).catch(() => undefined),
        this.#time.random() * 800,
      )
    if (resends) return run()
    await pause(deadlineMs)
    throw new Error('no answer')
  }

  #process() {
    const counters = createHitCounters(this.#connection(), singleKeys, (work) => work())
    const clock = new DatabaseClock(
      () => performance.now(),
      () => this.#databaseMs,
    )
    const nowMs = (): number => performance.now()
    const supply = createHitSupply({ counters, postgres: this.#postgres(), clock, nowMs })
    const bounds = { leases: 100, waiters: 1000, waitMs: 500, lookEveryMs: 100, idleMs: 300 }
    const quiet = (): undefined => undefined
    const quota = new HitQuota({
      supply, clock, nowMs, bounds, whenUngrantable: 'reject', onRejected: quiet, onUngranted: quiet,
    }) // prettier-ignore
    void counters.prepare()
    return { quota, prepare: counters.prepare, alive: true }
  }

  /** What a pass does, every now and then. */
  async passes(): Promise<void> {
    await Promise.all(this.#processes.map(({ prepare }) => prepare()))
  }

  /** In Redis, to be handed out: by link and month. */
  async left(): Promise<Map<string, number>> {
    const found = await this.#real((redis) => redis.script('qlTestLeft', leftLua)(this.#keys, [`run${this.#run}`]))
    // A counter that any link inherits is nobody's.
    const parsed = (found as string[]).flatMap((text) => {
      const [, id, left, month] = /^([1-9]\d*):\d+=(\d+)=.*:([\d-]+)$/.exec(text) ?? []
      return id === undefined ? [] : [[`${id}/${month}`, Number(left)] as const]
    })
    return new Map(parsed)
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map(({ quota }) => quota.close()))
  }

  #connection(): Parameters<typeof createHitCounters>[0] {
    const { resends, inherits, noRunCheck, script = (lua: string) => lua } = this.#flaws
    const runNow = (): number => this.#run
    return {
      ready: true,
      get connection() {
        return runNow()
      },
      info: async () => {
        await pause(this.#time.random() * answerMs)
        return `run_id:run${noRunCheck ? 0 : this.#run}\nmaster_replid:1`
      },
      script: (name, lua) => (keys, args) => {
        const run = this.#run
        const ofAnyone = inherits ? args.with(linkIdArg, 0) : args
        // Time that is not real must end no key.
        const timeless = args.length > lifeArg ? ofAnyone.with(lifeArg, 600_000) : ofAnyone
        return this.#send(() => {
          // What is under way on a connection does not reach the server of the next one.
          if (run !== this.#run) throw new Error('the connection was lost')
          return this.#real((redis) => redis.script(name, script(lua))(keys, timeless))
        }, resends)
      },
    }
  }

  #postgres() {
    return {
      grant: (linkId: number, step: GrantStep, seen: number | null): Promise<Grant> => {
        if (this.#nowMs < this.#noPostgresUntilMs) {
          if (!this.#flaws.spendsFirst) return Promise.reject(new Error('Postgres is away'))
          return Promise.resolve({
            month: this.#month,
            atMs: this.#databaseMs,
            units: 1,
            granted: 1,
            limit: 1,
            exists: true,
          })
        }
        return this.#send(() => this.#grant(linkId, step, seen))
      },
      granted: (linkId: number): Promise<Granted> =>
        this.#nowMs < this.#noPostgresUntilMs
          ? Promise.reject(new Error('Postgres is away'))
          : this.#send(() => this.#granted(linkId)),
      giveBack: (linkId: number, month: string, units: number): Promise<void> =>
        this.#send(() => {
          const key = `${linkId}/${month}`
          this.granted.set(key, (this.granted.get(key) ?? 0) - units)
        }),
    }
  }

  #granted(linkId: number): Granted {
    const exists = this.#link.id === linkId
    const granted = this.granted.get(`${linkId}/${this.#month.name}`) ?? 0
    return { granted, limit: exists ? this.#link.monthlyHits : null, exists }
  }

  #grant(linkId: number, step: GrantStep, seen: number | null): Grant {
    const month = this.#month
    const key = `${linkId}/${month.name}`
    const limit = this.#link.id === linkId ? this.#link.monthlyHits : null
    const before = this.granted.get(key) ?? 0
    const advance = Math.max(1, Math.min(1000, Math.floor((limit ?? 0) / 10)))
    const size = step === 'advance' ? advance : Math.max(1, advance >> 5)
    const units = limit === null || (seen !== null && seen !== before) ? 0 : Math.max(0, Math.min(size, limit - before))
    this.granted.set(key, before + units)
    return { month, atMs: this.#databaseMs, units, granted: before + units, limit, exists: this.#link.id === linkId }
  }
}
