// A Redis Cluster as many small Redises: each partition is asked at the node that has its slot, over a connection of ours,
// with a breaker for each node.
//
//   CLUSTER SLOTS of every node that answers ─▶ the newest map ─▶ partition ─▶ node
//        ▲ every few seconds; at once after a MOVED, and while a partition has no node that is connected
//
// ioredis' own cluster client is not used: it queues, follows redirections and sends again what a closed connection has
// left open, so that a command may be carried out twice, or where its partition is not whole. Here an answer that names another
// node is a failure of that partition, which is not trusted until a pass has been there (`connection` counts up).
import { limits } from '../limits.ts'
import type { Breaker } from './breaker.ts'
import { withDeadline } from './deadline.ts'
import { redirects } from './redis-answers.ts'
import type { PartitionRedis, RedisConnection } from './redis.ts'
import { slotOf } from './slots.ts'

export interface ClusterNode {
  readonly redis: RedisConnection
  readonly breaker: Breaker
}

interface ClusterDeps {
  /** host:port of some of its nodes. */
  readonly seeds: readonly string[]
  /** A tag for each partition. */
  readonly tags: readonly string[]
  readonly open: (address: string) => ClusterNode
  /** Each node, once it is connected. */
  readonly onMet?: ((redis: RedisConnection, address: string) => void) | undefined
}

export type Cluster = ReturnType<typeof openCluster>

// Long because what a partition asks is decided by what the map says.
export function openCluster({ seeds, tags, open, onMet }: ClusterDeps) {
  const nodes = new Map<string, ClusterNode>()
  const met = new WeakSet<ClusterNode>()
  const slots = tags.map(slotOf)
  /** By partition; and how often it was another one, or answered that it is. */
  const owners = tags.map((): ClusterNode | undefined => undefined)
  const turns = tags.map(() => 0)
  let addresses: readonly string[] = seeds
  let isDue = true
  let isLooking = false
  let lookedMs = -Infinity
  let listening: { readonly node: ClusterNode; readonly stop: () => void } | undefined
  let heard: { readonly channel: string; readonly onMessage: (message: string) => void } | undefined

  const nodeAt = (address: string): ClusterNode => {
    const node = nodes.get(address) ?? open(address)
    nodes.set(address, node)
    return node
  }
  const letGo = (node: ClusterNode): void => {
    node.redis.close()
    node.breaker.shutdown()
  }
  const ready = (): ClusterNode[] => [...nodes.values()].filter(({ redis }) => redis.ready)

  const follow = ({ primaries, replicas }: ClusterMap): void => {
    addresses = [...new Set([...seeds, ...primaries.map(({ address }) => address), ...replicas])]
    const wanted = new Set(primaries.map(({ address }) => nodeAt(address)))
    for (const [n, slot] of slots.entries()) {
      const range = primaries.find(({ from, to }) => from <= slot && slot <= to)
      const owner = range && nodeAt(range.address)
      if (owners[n] === owner) continue
      owners[n] = owner
      turns[n]!++
    }
    for (const [address, node] of nodes) {
      if (wanted.has(node)) continue
      nodes.delete(address)
      letGo(node)
    }
  }

  const look = async (): Promise<void> => {
    isLooking = true
    isDue = false
    lookedMs = performance.now()
    const asked = [...nodes].filter(([, { redis }]) => redis.ready)
    for (const [address, node] of asked) {
      if (!met.has(node)) onMet?.(node.redis, address)
      met.add(node)
    }
    // Where none of them answers, one that is a replica until now may be the one to ask.
    if (asked.length === 0) for (const address of addresses) nodeAt(address)
    const answers = asked.map(([address, { redis }]) =>
      withDeadline(redis.clusterMap(), limits.clusterMapMs, 'the map of the cluster').then(
        (answer) => parseMap(answer, address),
        () => undefined,
      ),
    )
    const maps = (await Promise.all(answers)).filter((map) => map !== undefined)
    const [newest] = maps.sort((a, b) => Number(b.isOk) - Number(a.isOk) || b.epoch - a.epoch)
    if (newest && !isClosed) follow(newest)
    isLooking = false
  }

  const listen = (): void => {
    if (heard === undefined || (listening && nodes.has(addressOf(listening.node)) && listening.node.redis.ready)) return
    listening?.stop()
    const [node] = ready()
    listening = node && { node, stop: node.redis.subscribe(heard.channel, heard.onMessage) }
  }
  const addressOf = (node: ClusterNode): string => [...nodes].find(([, each]) => each === node)?.[0] ?? ''

  let isClosed = false
  const timer = setInterval(() => {
    listen()
    const sinceMs = performance.now() - lookedMs
    const isCutOff = sinceMs > limits.clusterSoonMs && !owners.every((owner) => owner?.redis.ready)
    if (!isLooking && (isDue || isCutOff || sinceMs > limits.clusterLookMs)) void look()
  }, limits.clusterTickMs)
  for (const seed of seeds) nodeAt(seed)

  const redisOf = (n: number): PartitionRedis => {
    const ask = async <T>(work: (redis: RedisConnection) => Promise<T>): Promise<T> => {
      const owner = owners[n]
      if (!owner) throw new Error('no node of the Redis Cluster has this partition')
      owner.redis.together()
      try {
        return await work(owner.redis)
      } catch (error) {
        if (redirects(error)) {
          isDue = true
          if (owners[n] === owner) turns[n]!++
        }
        throw error
      }
    }
    return {
      get ready() {
        return owners[n]?.redis.ready === true
      },
      get connection() {
        return turns[n]! * 1e9 + (owners[n]?.redis.connection ?? 0)
      },
      getEach: (keys) => ask((redis) => redis.getEach(keys)),
      set: (key, value, lifeMs) => ask((redis) => redis.set(key, value, lifeMs)),
      unlink: (keys) => ask((redis) => redis.unlink(keys)),
      unlinkMatching: (pattern) => ask((redis) => redis.unlinkMatching(pattern)),
      prolong: (key, lifeMs) => ask((redis) => redis.prolong(key, lifeMs)),
      info: (section) => ask((redis) => redis.info(section)),
      pttl: (key) => ask((redis) => redis.pttl(key)),
      script: (name, lua) => (keys, args) => ask((redis) => redis.script(name, lua)(keys, args)),
    }
  }

  return {
    partitions: tags.map((_, n) => ({
      redis: redisOf(n),
      breaker: {
        get state() {
          return owners[n]?.breaker.state ?? 'closed'
        },
        run: <T>(call: () => Promise<T>): Promise<T> => owners[n]?.breaker.run(call) ?? call(),
      },
    })),
    /** Primaries, as far as they are known. */
    nodes: (): readonly ClusterNode[] => [...nodes.values()],
    /** At any node: the cluster passes it on to all. */
    async publish(channel: string, message: string): Promise<unknown> {
      const [node] = ready()
      if (!node) throw new Error('no node of the Redis Cluster is connected')
      return node.redis.publish(channel, message)
    },
    /** At one node at a time. */
    subscribe(channel: string, onMessage: (message: string) => void): void {
      heard = { channel, onMessage }
    },
    /** Every partition has a node that answers. */
    async ping(): Promise<void> {
      if (!owners.every((owner) => owner?.redis.ready)) throw new Error('a part of the Redis Cluster is not connected')
      await Promise.all([...new Set(owners)].map((owner) => owner!.redis.ping()))
    },
    close(): void {
      isClosed = true
      clearInterval(timer)
      listening?.stop()
      for (const node of nodes.values()) letGo(node)
    },
  }
}

interface ClusterMap {
  readonly isOk: boolean
  readonly epoch: number
  readonly primaries: readonly { readonly from: number; readonly to: number; readonly address: string }[]
  readonly replicas: readonly string[]
}

type NodeAnswer = [host: string | null, port: number, ...unknown[]]
type SlotsAnswer = [from: number, to: number, primary: NodeAnswer, ...replicas: NodeAnswer[]][]

/** Undefined for what no cluster has said. A node that does not know its own address is where it was asked. */
export function parseMap({ slots, info }: { slots: unknown; info: string }, asked: string): ClusterMap | undefined {
  try {
    const host = asked.slice(0, asked.lastIndexOf(':'))
    const addressIn = ([name, port]: NodeAnswer): string => {
      if (name === '?' || !Number.isSafeInteger(port)) throw new Error('a node without an address')
      return `${name?.includes(':') ? `[${name}]` : name || host}:${port}`
    }
    const ranges = (slots as SlotsAnswer).map(([from, to, primary, ...replicas]) => {
      if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) throw new Error('a range without ends')
      const range = { from, to, address: addressIn(primary) }
      return { range, replicas: replicas.map(addressIn) }
    })
    const isOk = /^cluster_state:ok/m.test(info)
    const epoch = Number(/^cluster_current_epoch:(\d+)/m.exec(info)?.[1])
    if (ranges.length === 0 || !Number.isSafeInteger(epoch)) return undefined
    return {
      isOk,
      epoch,
      primaries: ranges.map(({ range }) => range),
      replicas: ranges.flatMap(({ replicas }) => replicas),
    }
  } catch {
    return undefined
  }
}
