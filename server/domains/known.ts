// Which domains there are, as this process knows it.
//
// Every pass brings which list is the current one; when it is another one, the list is read before the pass vouches for
// anything. So who has heard of no change for longer than passes vouch has nobody to answer who could. A process that starts
// while Postgres is away takes the list from its Redis, where the links are that it can answer then; until it has one from
// either, it knows only its own host.
import { limits } from '../limits.ts'
import type { RedisPartition } from '../connections/open.ts'
import { isHostName } from '../link.ts'

export interface Domain {
  readonly host: string
  readonly rootUrl: string | null
  readonly notFoundUrl: string | null
  /** Its host is answered 404, and nothing else. */
  readonly isRemoved: boolean
}

export interface DomainList {
  /** Of the database's contents, and how often the list has changed: `epoch/count`. */
  readonly version: string
  readonly domains: readonly Domain[]
}

interface KnownDomainsDeps {
  /** From Postgres. */
  readonly read: () => Promise<DomainList>
  readonly partition: Pick<RedisPartition, 'redis' | 'keys'> | undefined
  readonly onList: (domains: readonly Domain[]) => void
}

/** Never over a later list of the same database. */
const keepLua = `
local held = redis.pcall('GET', KEYS[1])
local ok, list = pcall(cjson.decode, held)
local version = ok and type(list) == 'table' and type(list.version) == 'string' and list.version or ''
local epoch, count = string.match(version, '^(.*)/(%d+)$')
local newEpoch, newCount = string.match(ARGV[1], '^(.*)/(%d+)$')
if epoch == newEpoch and tonumber(count) > tonumber(newCount) then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`

export class KnownDomains {
  readonly #deps: KnownDomainsDeps
  readonly #keep: ((keys: string[], args: string[]) => Promise<unknown>) | undefined
  #list: DomainList | undefined
  /** From Postgres, not from Redis. */
  #isTrue = false
  /** The Redis connection over which this list was kept. */
  #keptOver = -1
  #firstKnown = (): void => undefined
  /** Resolves with the first list. */
  readonly first = new Promise<void>((resolve) => (this.#firstKnown = resolve))

  constructor(deps: KnownDomainsDeps) {
    this.#deps = deps
    this.#keep = deps.partition?.redis.script('qlKeepDomains', keepLua)
  }

  get domains(): readonly Domain[] {
    return this.#list?.domains ?? []
  }

  has(host: string): boolean {
    return this.domains.some((domain) => domain.host === host && !domain.isRemoved)
  }

  /** A pass says which list is the current one. Resolves when it is known. */
  async heard(version: string): Promise<void> {
    if (!this.#isTrue || this.#list?.version !== version) this.#learn(await this.#deps.read(), true)
  }

  /** No pass succeeds: what Redis remembers is better than nothing. Never rejects. */
  async missed(): Promise<void> {
    const { redis, keys } = this.#deps.partition ?? {}
    if (this.#list !== undefined || !redis?.ready || !keys) return
    const held = await redis.getEach([keys.domains]).catch(() => undefined)
    // Where nothing is kept, there was none when somebody last looked.
    if (held && !this.#isTrue) this.#learn(parseList(held[0] ?? null) ?? noDomains, false)
  }

  /** For those who start while Postgres is away. Never rejects; once per connection and list. */
  async keep(): Promise<void> {
    const { redis, keys } = this.#deps.partition ?? {}
    const list = this.#list
    if (
      !redis?.ready ||
      !keys ||
      !this.#keep ||
      !this.#isTrue ||
      list === undefined ||
      this.#keptOver === redis.connection
    )
      return
    const over = redis.connection
    const kept = await this.#keep([keys.domains], [list.version, JSON.stringify(list)]).catch(() => undefined)
    if (kept !== undefined && this.#list === list) this.#keptOver = over
  }

  #learn({ version, domains }: DomainList, isTrue: boolean): void {
    const list = { version, domains: domains.filter(({ host }) => isHostName(host)).map(withTargets) }
    this.#isTrue = isTrue
    this.#list = list
    this.#keptOver = -1
    this.#deps.onList(list.domains)
    this.#firstKnown()
  }
}

/** Only what the WHATWG serialiser can have written becomes a header: a row put in by hand may hold anything. */
const withTargets = (domain: Domain): Domain => {
  const fit = (url: string | null): string | null => (isTarget(url) ? url : null)
  return { ...domain, rootUrl: fit(domain.rootUrl), notFoundUrl: fit(domain.notFoundUrl) }
}

const noDomains: DomainList = { version: '', domains: [] }

/** Undefined for whatever no process of ours has written. */
function parseList(text: string | null): DomainList | undefined {
  try {
    const { version, domains } = JSON.parse(text ?? 'null') as DomainList
    const isWhole = typeof version === 'string' && Array.isArray(domains) && domains.length <= limits.domains
    return isWhole && domains.every(isDomain) ? { version, domains } : undefined
  } catch {
    return undefined
  }
}

const isDomain = ({ host, rootUrl, notFoundUrl, isRemoved }: Domain): boolean =>
  isHostName(host) && [rootUrl, notFoundUrl].every(isTarget) && typeof isRemoved === 'boolean'

const isTarget = (url: unknown): boolean =>
  url === null || (typeof url === 'string' && /^https?:\/\/[\x21-\x7e]+$/.test(url))
