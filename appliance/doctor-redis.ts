// What `make doctor` asks about Redis: one, or each node of a cluster.
import { partitionOf, tagsFor } from '../server/connections/slots.ts'
import type { Code } from '../server/link.ts'
import { keysIn } from '../server/redis-keys.ts'
import { finding, nothingFound, type Patient, type Points } from './patient.ts'

/** The value under a name in the answer of CONFIG GET, in redis-cli's or the protocol's form. */
const configValue = (answer: string): string => answer.trim().split(/\r?\n/).at(-1)?.trim() ?? ''

const gigabytes = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(1)} GB`

interface AskRedis {
  readonly redis: NonNullable<Patient['redis']>
}

/** A command of each kind that QuickLink gives, on each kind of key. */
const needed = [
  'mget ql:v1:cursor ql:v1:link:a',
  'unlink ql:v1:404:a',
  'evalsha a 2 links:a:hits:2026-01 quota:tenant:a:used',
  'script load a',
  'scan 0',
  'publish ql:invalidate a',
  'info',
]
const neededInCluster = ['cluster slots', 'cluster info']

/** The default of Redis. */
const longNodeTimeoutMs = 15_000

function serverPoints({ redis, nodes, settings }: Patient & AskRedis): Points {
  type Node = string | undefined
  /** What is wrong, with the name of its node where there are several. */
  const ofEach = async (ask: (node: Node) => Promise<string | undefined>): Promise<string[]> => {
    const names: readonly Node[] = await nodes()
    const wrong = (names.length > 0 ? names : [undefined]).map(async (node) => {
      const said = await ask(node)
      return said === undefined ? [] : node === undefined ? said : `${node} ${said}`
    })
    return (await Promise.all(wrong)).flat()
  }
  const configured = async (name: string, node: Node): Promise<string> =>
    configValue(await redis(['config', 'get', name], node))

  return {
    async 'Redis maxmemory'() {
      const sizes: number[] = []
      const unbounded = await ofEach(async (node) => {
        const bytes = Number(await configured('maxmemory', node))
        sizes.push(bytes)
        return bytes > 0 ? undefined : 'has no bound: set maxmemory (REDIS_MAXMEMORY), 4gb or more'
      })
      const least = Math.min(...sizes)
      const each = sizes.length > 1 ? ` at each of ${sizes.length} nodes` : ''
      const advice = least < 4 * 2 ** 30 ? ' (4 GB or more is recommended)' : ''
      return nothingFound(unbounded, `${gigabytes(least)}${each}${advice}`)
    },
    async 'Redis maxmemory-policy'() {
      const others = await ofEach(async (node) => {
        const policy = await configured('maxmemory-policy', node)
        const advice = ', but must be volatile-lru: `config set maxmemory-policy volatile-lru`, or restart Redis'
        return policy === 'volatile-lru' ? undefined : `${node === undefined ? '' : 'has '}${policy}${advice}`
      })
      return nothingFound(others, 'volatile-lru')
    },
    async 'What QuickLink may do in Redis'() {
      const { redisUsername } = await settings()
      const user = typeof redisUsername === 'string' ? redisUsername : 'quicklink'
      const lacking = await ofEach(async (node) => {
        const refused: string[] = []
        for (const command of node === undefined ? needed : [...needed, ...neededInCluster]) {
          const answer = await redis(['acl', 'dryrun', user, ...command.split(' ')], node)
          if (!/^\W*OK\b/.test(answer)) refused.push(command)
        }
        const advice = 'give it the rights in redis/quicklink.acl'
        return refused.length === 0 ? undefined : `does not let ${user} ${refused.join(', nor ')}: ${advice}`
      })
      return nothingFound(lacking, `${user} may do what it has to`)
    },
    async 'While a part of Redis has no primary'() {
      if ((await nodes()).length === 0) return 'not here'
      const wrong = await ofEach(async (node) => {
        if ((await configured('cluster-require-full-coverage', node)) !== 'no')
          return 'stops answering altogether: set cluster-require-full-coverage to no'
        const timeoutMs = Number(await configured('cluster-node-timeout', node))
        const advice = `waits for ${timeoutMs / 1000} s before its replica takes its place: set cluster-node-timeout to 5000`
        return timeoutMs <= longNodeTimeoutMs ? undefined : advice
      })
      return nothingFound(wrong, 'the others go on, and soon its replica takes its place')
    },
    async 'Each part of Redis has a replica'() {
      const [first] = await nodes()
      if (first === undefined) return 'not here'
      if (!(await redis(['cluster', 'info'], first)).includes('cluster_state:ok'))
        return finding(false, 'a part has no primary: `redis-cli --cluster check` says which')
      // <id> <address> <flags> <id of its primary> <…> <…> <…> <…> <slots>
      const lines = (await redis(['cluster', 'nodes'], first)).split('\n').map((line) => line.trim().split(' '))
      const well = lines.filter((line) => !/fail|noaddr|handshake/.test(line[2] ?? 'fail'))
      const primaries = well.filter((line) => line[2]?.includes('master') && line[8] !== undefined)
      const alone = primaries.filter(([id]) => !well.some((line) => line[3] === id))
      return nothingFound(
        alone.map(([, address = '']) => address.replace(/@.*/, '')),
        `each of ${primaries.length}`,
        'nobody takes the place of ',
      )
    },
  }
}

/** Absent codes, asked for at the same moment: what Redis then holds shows negative cache and jitter at work. */
function cachePoints({ visit, settings, redis }: Patient & AskRedis): Points {
  const hintKeys = async (codes: readonly string[]): Promise<string[]> => {
    const { redisCluster, redisPartitions } = await settings()
    const tags = redisCluster === undefined ? [''] : tagsFor(Number(redisPartitions))
    return codes.map((code) => keysIn(tags[partitionOf(code, tags.length)] ?? '').hint(code as Code))
  }
  const lives = async (): Promise<number[]> => {
    const codes = Array.from({ length: 8 }, () => Math.random().toString(36).slice(2, 9).padEnd(7, 'x'))
    await visit(codes)
    // The answer does not wait for the cache.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const answers = await Promise.all((await hintKeys(codes)).map((key) => redis(['pttl', key])))
    return answers.map((answer) => Number(/-?\d+/.exec(answer)?.[0])).filter((ms) => ms > 0)
  }
  // A moment in which Redis is not trusted, as on a busy machine, is none of the caches': it is over in a second.
  const bestOf = async (looks: number): Promise<number[]> => {
    const found = await lives()
    return found.length >= 4 || looks === 1 ? found : bestOf(looks - 1)
  }
  let sampled: Promise<number[]> | undefined
  const sample = (): Promise<number[]> => (sampled ??= bestOf(4))
  return {
    async 'Negative cache'() {
      const { length } = await sample()
      return finding(length >= 4, `${length} of 8 absent codes were remembered in Redis after one visit`)
    },
    async 'Jitter of lifetimes'() {
      const found = await sample()
      const { ttlJitter, notFoundTtlS } = await settings()
      const spreadS = (Math.max(...found) - Math.min(...found)) / 1000
      if (!(Number(ttlJitter) > 0)) return finding(false, 'TTL_JITTER is 0: keys made together end together')
      if (found.length < 4) return finding(false, 'too few keys to compare: see the negative cache')
      const text = `${found.length} keys of one moment, ${Number(notFoundTtlS)} s ±${Number(ttlJitter) * 100} %, end ${spreadS.toFixed(1)} s apart`
      return finding(spreadS > Number(notFoundTtlS) * Number(ttlJitter) * 0.1, text)
    },
  }
}

const absentRedis: Points = {
  Redis: () =>
    Promise.resolve(
      finding(false, 'the Redis tier is off: install redis-server 7.0 or valkey-server 8, then make down, make up'),
    ),
}

/** In a cluster, of all its nodes. */
export const redisPoints = (patient: Patient): Points => {
  const { redis } = patient
  return redis ? { ...serverPoints({ ...patient, redis }), ...cachePoints({ ...patient, redis }) } : absentRedis
}
