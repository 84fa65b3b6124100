// The only importer of ioredis. Nothing waits here for a connection, nothing is sent twice, and a socket that has been
// silent for a second while an answer is due is given up; so is one that sends what was not asked for.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Redis, type RedisOptions } from 'ioredis'
import { again, type Config } from '../config.ts'
import { inPlainWords, type Server } from './certificates.ts'

export type RedisConnection = ReturnType<typeof openRedis>

/** What is asked about keys: of a single Redis, or of a partition of a cluster. */
export type PartitionRedis = Pick<
  RedisConnection,
  'ready' | 'connection' | 'getEach' | 'set' | 'unlink' | 'unlinkMatching' | 'prolong' | 'info' | 'pttl' | 'script'
>

export type RedisTarget = Pick<Config, 'redisUrl' | 'redisSentinels' | 'redisSentinelName' | 'redisPassword'> &
  Partial<Pick<Config, 'redisCaFile' | 'redisCluster' | 'files'>>

/** Answers what Redis says. */
export type Script = (keys: readonly string[], args: readonly (string | number)[]) => Promise<unknown>

export type CommandKind = 'get' | 'set' | 'del' | 'eval' | 'scan' | 'publish' | 'ping' | 'other'

export interface RedisHooks {
  readonly onError: (error: Error) => void
  readonly onCommand: (command: CommandKind, seconds: number) => void
}

/** A server that does not speak as Redis does. After it no answer on that connection can be told from another one's. */
class Senseless extends Error {
  override readonly name = 'Senseless'
}

// ioredis throws what it meets in an answer (an unsolicited null is enough) from the next tick, where nobody can catch it,
// and the process ends. Here the connection ends instead.
const { default: handler } = createRequire(import.meta.url)('ioredis/built/DataHandler.js') as {
  default: { prototype: { dispatch(this: { redis: Pick<Redis, 'stream'> }, handle: () => void): void } }
}
handler.prototype.dispatch = function (handle) {
  try {
    handle()
  } catch (error) {
    this.redis.stream.destroy(new Senseless('Redis has sent what is no answer', { cause: error }))
  }
}
/** What ioredis says of an answer that nobody waits for, and of bytes that are no RESP. */
const nonsense = /^Command queue state error|Please report this\.$/

const connectMs = 1000
/** Milliseconds until a server is tried again that spoke nonsense: it is up, and would at once be asked again. */
const senselessMs = 1000
const silentMs = 1000
const againMs = 100

export function redisOptions(target: RedisTarget): RedisOptions {
  const common: RedisOptions = {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: connectMs,
    socketTimeout: silentMs,
    keepAlive: 10_000,
    // Never null: QuickLink goes on trying for as long as it lives. Often enough that a breaker's trial, which is due once in
    // 30 s, seldom comes before the connection and never waits a second for it.
    retryStrategy: (attempt) => Math.min(300, 25 * 2 ** Math.min(attempt, 6)) * (0.75 + Math.random() / 2),
    // An old master that is a replica now: leave it, ask where the master is.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...(target.redisPassword === undefined ? {} : { password: target.redisPassword }),
  }
  if (target.redisSentinels) {
    return {
      ...common,
      sentinels: target.redisSentinels,
      name: target.redisSentinelName ?? '',
      sentinelRetryStrategy: (attempt) => Math.min(1000, 50 * attempt),
      // A Sentinel that does not answer must not keep us from asking the next one.
      sentinelCommandTimeout: connectMs,
      failoverDetector: true,
    }
  }
  const url = new URL(target.redisUrl ?? '')
  if (url.protocol === 'unix:') return { ...common, path: url.pathname }
  return {
    ...common,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1) || 0),
    ...(url.username ? { username: decodeURIComponent(url.username) } : {}),
    ...(url.password ? { password: decodeURIComponent(url.password) } : {}),
    ...(url.protocol === 'rediss:' ? { tls: target.redisCaFile ? { ca: readFileSync(target.redisCaFile) } : {} } : {}),
  }
}

/** A node of a cluster. */
export function nodeTarget(config: RedisTarget & Pick<Config, 'redisUsername'>, address: string): RedisTarget {
  const user = config.redisUsername === undefined ? '' : `${encodeURIComponent(config.redisUsername)}@`
  const redisUrl = `${config.redisCaFile === undefined ? 'redis' : 'rediss'}://${user}${address}`
  return { ...config, redisUrl, redisSentinels: undefined }
}

/** For the next connection: what stands in files may have been exchanged. Nothing, where it cannot be read at the moment. */
function exchanged(target: RedisTarget): Pick<RedisOptions, 'host' | 'port' | 'username' | 'password' | 'tls'> {
  try {
    const redisUrl = again(target, 'redisUrl', target.redisUrl)
    const redisPassword = again(target, 'redisPassword', target.redisPassword)
    const { host, port, username, password, tls } = redisOptions({ ...target, redisUrl, redisPassword })
    const now = Object.entries({ host, port, username, password, tls }).filter(([, value]) => value !== undefined)
    return Object.fromEntries(now)
  } catch {
    return {}
  }
}

const server = ({ redisUrl = '', redisCluster }: RedisTarget): Server => ({
  name: 'Redis',
  url: redisUrl,
  setting: redisCluster ? 'REDIS_CA_FILE' : 'REDIS_URL',
  ca: "REDIS_CA_FILE has to name its CA's file",
  // Of a cluster QuickLink is given some names, and nodes tell it all others.
  host: redisCluster && 'REDIS_CLUSTER, and the nodes by cluster-announce-hostname with cluster-preferred-endpoint-type hostname, have to use names that are in it', // prettier-ignore
})

/** A server says of a handshake that ends half way that it has, which ioredis listens for once only: an error that nobody hears ends the process. */
function letGo(client: Redis): void {
  const stream = client.stream as Redis['stream'] | undefined
  stream?.on('error', () => undefined)
  client.disconnect()
}

// ioredis' overloads and exactOptionalPropertyTypes do not agree.
const Client = Redis as unknown as new (options: RedisOptions) => Redis

export function openRedis(target: RedisTarget, hooks: RedisHooks) {
  let closed = false
  const open = (options: RedisOptions): Redis => {
    let isSenseless = false
    const retryStrategy: RedisOptions['retryStrategy'] = (attempt) => {
      const afterMs = isSenseless ? senselessMs : options.retryStrategy?.(attempt)
      isSenseless = false
      Object.assign(made.options, exchanged(target))
      return afterMs
    }
    const made: Redis = new Client({ ...options, retryStrategy })
    made.on('error', (error) => {
      if (closed) return
      if (nonsense.test(error.message))
        made.stream.destroy(new Senseless('Redis has sent what is no answer', { cause: error }))
      isSenseless ||= error instanceof Senseless
      hooks.onError(target.redisUrl === undefined ? error : (inPlainWords(error, server(target)) as Error))
    })
    // ioredis gives up for good when Sentinels tell of a failover while it asks one of them for the primary.
    made.on('end', () => {
      if (!closed) setTimeout(() => void made.connect().catch(() => undefined), againMs).unref()
    })
    return made
  }
  const client = open(redisOptions(target))
  const scripts = new Map<string, Script>()
  const subscribers = new Set<Redis>()
  let isCorked = false
  let connection = 0
  const another = (): void => void connection++
  client.on('ready', another).on('close', another)

  const timed = async <T>(command: CommandKind, answer: Promise<T>): Promise<T> => {
    const beganMs = performance.now()
    try {
      return await answer
    } finally {
      hooks.onCommand(command, (performance.now() - beganMs) / 1000)
    }
  }

  return {
    get ready(): boolean {
      return client.status === 'ready'
    },
    /** Counts up with every connection that is made or lost. */
    get connection(): number {
      return connection
    },
    async getEach(keys: readonly string[]): Promise<(string | null)[]> {
      // Not a pipeline of GETs: each has an object per command, and all of them are kept until the next full collection.
      const values: unknown = await timed('get', client.mget([...keys]))
      if (!Array.isArray(values) || values.length !== keys.length) throw new Error('Redis does not say what it holds')
      // What a hand, or another program, has put there and is no string counts as not there; who writes there removes it.
      return values.map((value) => (typeof value === 'string' ? value : null))
    },
    set: (key: string, value: string, lifeMs: number): Promise<unknown> =>
      timed('set', client.set(key, value, 'PX', lifeMs)),
    unlink: (keys: readonly string[]): Promise<unknown> => timed('del', client.unlink(...keys)),
    async unlinkMatching(pattern: string): Promise<void> {
      for (let at = '0'; ;) {
        const [next, keys] = await timed('scan', client.scan(at, 'MATCH', pattern, 'COUNT', 1000))
        if (next === at && next !== '0') throw new Error('Redis answers a SCAN with where it began')
        if (keys.length > 0) await timed('del', client.unlink(...keys))
        if (next === '0') return
        at = next
      }
    },
    prolong: (key: string, lifeMs: number): Promise<unknown> => timed('other', client.pexpire(key, lifeMs, 'GT')),
    countKeys: (): Promise<number> => timed('other', client.dbsize()),
    /** About 1,000 of them. */
    sampleKeys: async (): Promise<string[]> => (await timed('scan', client.scan('0', 'COUNT', 1000)))[1],
    /** A section of INFO. */
    info: (section: string): Promise<string> => timed('other', client.info(section)),
    pttl: (key: string): Promise<number> => timed('other', client.pttl(key)),
    publish: (channel: string, message: string): Promise<unknown> => timed('publish', client.publish(channel, message)),
    /** Answers how to end it. */
    subscribe(channel: string, onMessage: (message: string) => void): () => void {
      // Its own connection: one that subscribes can ask nothing else. Silence is its normal state.
      const { socketTimeout: _, ...quiet } = redisOptions(target)
      const listening = open({ ...quiet, autoResubscribe: false })
      subscribers.add(listening)
      listening.on('ready', () => {
        listening.subscribe(channel).catch(hooks.onError)
      })
      listening.on('message', (_channel, message: string) => onMessage(message))
      return () => {
        subscribers.delete(listening)
        letGo(listening.removeAllListeners('end'))
      }
    },
    /** What is asked until this turn of the event loop ends is sent in one piece. */
    together(): void {
      if (isCorked || client.status !== 'ready') return
      const { stream } = client
      isCorked = true
      stream.cork()
      process.nextTick(() => {
        isCorked = false
        stream.uncork()
      })
    },
    /** Which nodes a cluster has, as this one knows it. */
    async clusterMap(): Promise<{ slots: unknown; info: string }> {
      const ask = (what: string): Promise<unknown> => timed('other', client.call('CLUSTER', what))
      const [slots, info] = await Promise.all([ask('SLOTS'), ask('INFO')])
      return { slots, info: String(info) }
    },
    /** Of its configuration, where our user may ask. */
    configured: async (name: string): Promise<string | undefined> => {
      const [, value] = await timed('other', client.config('GET', name))
      return value
    },
    ping: (): Promise<unknown> => timed('ping', client.ping()),
    /** EVALSHA, re-loaded when Redis does not know it (it was restarted). */
    script(name: string, lua: string): Script {
      // Partitions ask for the same ones.
      const known = scripts.get(lua)
      if (known) return known
      client.defineCommand(name, { lua })
      const command = (client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[name]
      if (!command) throw new Error(`no command ${name}`)
      const script: Script = (keys, args) => timed('eval', command.call(client, keys.length, ...keys, ...args))
      scripts.set(lua, script)
      return script
    },
    close(): void {
      closed = true
      for (const each of [client, ...subscribers]) letGo(each)
    },
  }
}
