// A Redis Cluster: primaries that share the slots, each with a replica; as QuickLink wants it, with passwords. One can be
// killed, and a slot moved, as `redis-cli --cluster reshard` does it, with time while it is under way.
import { join } from 'node:path'
import { newPassword } from '../../embedded/paths.ts'
import { freePort } from '../../embedded/process.ts'
import { askRedis } from '../../embedded/redis-process.ts'
import { startLocalRedis, type LocalServer } from '../../embedded/temporary.ts'
import { until, waitFor } from '../../embedded/wait.ts'
import { partitionOf, slotCount, slotOf, tagsFor } from '../../server/connections/slots.ts'
import { keysIn } from '../../server/redis-keys.ts'

export type RedisCluster = Awaited<ReturnType<typeof startRedisCluster>>

/** Fewer than usual, so that each has links enough to be met. */
const partitions = 16
const tags = tagsFor(partitions)
const tagOf = (code: string): string => tags[partitionOf(code, partitions)]!

interface ClusterOptions {
  readonly primaries?: number
  /** After which a node that says nothing is taken for dead. */
  readonly nodeTimeoutMs?: number
  /** Files of a certificate for `localhost`: nodes speak TLS, to each other too, and tell of each other by that name. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string }
}

export async function startRedisCluster(
  dir: string,
  { primaries = 3, nodeTimeoutMs = 1000, tls }: ClusterOptions = {},
) {
  const password = newPassword()
  const start = async (_: unknown, n: number): Promise<ClusterServer> => {
    const [busPort, tlsPort] = [await freePort(), await freePort()]
    const secure = tls && [
      `tls-port ${tlsPort}`,
      `tls-cert-file ${tls.cert}`,
      `tls-key-file ${tls.key}`,
      `tls-ca-cert-file ${tls.ca}`,
      'tls-auth-clients no',
      'tls-cluster yes',
      'tls-replication yes',
      'cluster-announce-hostname localhost',
      'cluster-preferred-endpoint-type hostname',
    ]
    const config = [
      'cluster-enabled yes',
      `cluster-port ${busPort}`,
      'cluster-config-file nodes.conf',
      `cluster-node-timeout ${nodeTimeoutMs}`,
      'cluster-require-full-coverage no',
      `masterauth ${password}`,
      'save ""',
      'repl-diskless-sync-delay 0',
      ...(secure ?? []),
    ]
    const server = await startLocalRedis({ dir: join(dir, `node-${n}`), password, config })
    const address = tls ? `localhost:${tlsPort}` : `127.0.0.1:${server.port}`
    return { server, address, busPort, id: (await tell(server, 'CLUSTER MYID')).split('\r\n')[1] ?? '' }
  }
  const nodes = await Promise.all(Array.from({ length: 2 * primaries }, start))
  const firsts = nodes.slice(0, primaries)
  const slotsEach = slotCount / primaries
  for (const [n, { server }] of nodes.entries()) await tell(server, `CLUSTER SET-CONFIG-EPOCH ${n + 1}`)
  for (const [n, { server }] of firsts.entries()) {
    const [from, to] = [Math.round(n * slotsEach), Math.round((n + 1) * slotsEach) - 1]
    await tell(server, `CLUSTER ADDSLOTSRANGE ${from} ${to}`)
  }
  const [first] = nodes as [ClusterServer]
  const everyoneKnows = async (what: string): Promise<boolean> =>
    (await Promise.all(nodes.map(({ server }) => tell(server, 'CLUSTER INFO')))).every((info) => info.includes(what))
  const haveMet = async (): Promise<boolean> => {
    for (const { server, busPort } of nodes)
      await tell(first.server, `CLUSTER MEET 127.0.0.1 ${server.port} ${busPort}`)
    // A node forgets whom it meets and who does not answer within a second, as on a busy machine.
    return until(() => everyoneKnows(`cluster_known_nodes:${nodes.length}`), 10_000)
  }
  await waitFor(haveMet, { deadlineMs: 120_000 })
  for (const [n, { server }] of nodes.slice(primaries).entries())
    await tell(server, `CLUSTER REPLICATE ${firsts[n]!.id}`)
  const isWhole = async (): Promise<boolean> => {
    const replicas = await Promise.all(firsts.map(({ server }) => tell(server, 'INFO replication')))
    return (await everyoneKnows('cluster_state:ok')) && replicas.every((info) => info.includes('state=online'))
  }
  await waitFor(isWhole, { deadlineMs: 60_000, everyMs: 50 })

  /** As whoever is up sees it. */
  const ownerOf = async (slot: number): Promise<ClusterServer | undefined> => {
    for (const { server } of nodes) {
      const lines = (await tell(server, 'CLUSTER NODES')).split('\n')
      const owner = lines.find((line) => / (myself,)?master - /.test(line) && hasSlot(line, slot))
      if (owner !== undefined) return nodes.find(({ id }) => owner.startsWith(id))
    }
    return undefined
  }
  /** Of a slot that is half there. */
  const destinationOf = async (slot: number): Promise<ClusterServer | undefined> => {
    const owner = await ownerOf(slot)
    const [, to] =
      new RegExp(`\\[${slot}->-(\\w+)\\]`).exec(owner ? await tell(owner.server, 'CLUSTER NODES') : '') ?? []
    return nodes.find(({ id }) => id === to)
  }
  /** How many keys those were. */
  const moveSome = async (slot: number, from: ClusterServer, to: ClusterServer, most: number): Promise<number> => {
    const answer = await tell(from.server, `CLUSTER GETKEYSINSLOT ${slot} ${most}`)
    const keys = answer.split('\r\n').filter((_, line) => line > 0 && line % 2 === 0)
    if (keys.length > 0) {
      const moved = `MIGRATE 127.0.0.1 ${to.server.port} "" 0 5000 REPLACE AUTH ${password} KEYS ${keys.join(' ')}`
      const said = await tell(from.server, moved)
      if (!said.startsWith('+')) throw new Error(`A slot could not be moved: ${said}`)
    }
    return keys.length
  }
  return {
    /** What a server needs to find it. */
    env: {
      REDIS_CLUSTER: nodes.map(({ address }) => address).join(','),
      ...(tls && { REDIS_CA_FILE: tls.ca }),
      REDIS_USERNAME: 'quicklink',
      REDIS_PASSWORD: password,
      REDIS_PARTITIONS: String(partitions),
    },
    nodes,
    tell: ({ server }: ClusterServer, command: string) => tell(server, command),
    ownerOf,
    /** Of what is known of a code. */
    slotOf: (code: string): number => slotOf(tagOf(code)),
    keysOf: (code: string) => keysIn(tagOf(code)),
    /** How many partitions are in slots of this node. */
    async partitionsOf(node: ClusterServer): Promise<number> {
      const owners = await Promise.all(tags.map((tag) => ownerOf(slotOf(tag))))
      return owners.filter((owner) => owner === node).length
    },
    /** From here on its replica gets nothing of what this primary does. Answers which one that is. */
    async cutReplicaOf(primary: ClusterServer): Promise<ClusterServer> {
      const port = /port=(\d+)/.exec(await tell(primary.server, 'INFO replication'))?.[1]
      const replica = nodes.find(({ server }) => String(server.port) === port)
      if (!replica) throw new Error('this primary has no replica')
      await tell(replica.server, 'CONFIG SET masterauth not-the-password')
      await tell(replica.server, 'CLIENT KILL TYPE master')
      const isCut = async () => (await tell(replica.server, 'INFO replication')).includes('master_link_status:down')
      await waitFor(isCut, { deadlineMs: 5000 })
      return replica
    },
    /** Resolves when another node has its slots. */
    async promoted(slot: number, before: ClusterServer): Promise<ClusterServer> {
      let owner: ClusterServer | undefined
      const isAnother = async (): Promise<boolean> => {
        owner = await ownerOf(slot)
        return owner !== undefined && owner !== before
      }
      await waitFor(isAnother, { deadlineMs: 60_000, everyMs: 50 })
      return owner!
    },
    /** To another primary, with what is in it: from here on it is half there. */
    async beginMove(slot: number, to: ClusterServer): Promise<void> {
      const from = (await ownerOf(slot))!
      await tell(to.server, `CLUSTER SETSLOT ${slot} IMPORTING ${from.id}`)
      await tell(from.server, `CLUSTER SETSLOT ${slot} MIGRATING ${to.id}`)
      await moveSome(slot, from, to, 2)
    },
    isMoving: async (slot: number): Promise<boolean> => (await destinationOf(slot)) !== undefined,
    /** What is left of it, and then the slot itself. */
    async endMove(slot: number): Promise<void> {
      const [from, to] = [(await ownerOf(slot))!, (await destinationOf(slot))!]
      while ((await moveSome(slot, from, to, 100)) > 0);
      for (const { server } of [to, from]) await tell(server, `CLUSTER SETSLOT ${slot} NODE ${to.id}`)
      await waitFor(async () => (await ownerOf(slot)) === to, { deadlineMs: 10_000 })
    },
    /** All of them, with a word of their command lines. */
    processes: nodes.map(({ server: { pid, word } }) => ({ pid, word })),
    async close(): Promise<void> {
      await Promise.all(nodes.map(({ server }) => server.kill()))
    },
  }
}

export interface ClusterServer {
  readonly server: LocalServer
  /** Where a server finds it. */
  readonly address: string
  readonly busPort: number
  readonly id: string
}

/** Empty where it does not answer. */
const tell = async ({ url, port }: LocalServer, command: string): Promise<string> =>
  (await askRedis(port, decodeURIComponent(new URL(url).password), command)) ?? ''

/** In a line of CLUSTER NODES. */
function hasSlot(line: string, slot: number): boolean {
  const ranges = line.trim().split(' ').slice(8)
  return ranges.some((range) => {
    const [from = NaN, to = from] = range.split('-').map(Number)
    return from <= slot && slot <= to
  })
}
