// The doctor's questions about a Redis Cluster, asked of a real one: each is seen good, and not good where one node is not as it must be.
import { beforeAll, expect, test } from 'vitest'
import type { ClusterServer, RedisCluster } from '../loadtest/faults/clusters.ts'
import { startCluster, waitFor } from '../testing/services.ts'
import { redisPoints } from './doctor-redis.ts'
import type { Patient } from './patient.ts'

let cluster: RedisCluster
let second: ClusterServer

const nameOf = (node: ClusterServer): string => `redis-${cluster.nodes.indexOf(node) + 1}`
/** What the doctor says of this point. */
async function says(point: string): Promise<string> {
  const patient: Partial<Patient> = {
    settings: () => Promise.resolve({ redisCluster: 'several', redisUsername: 'quicklink' }),
    nodes: () => Promise.resolve(cluster.nodes.map(nameOf)),
    redis: (command, name) =>
      cluster.tell(
        cluster.nodes.find((node) => nameOf(node) === name)!,
        command.join(' '),
      ),
  }
  const said = await redisPoints(patient as Patient)[point]!()
  return said === 'not here' ? said : `${said.ok ? 'ok' : 'not ok'}: ${said.text}`
}

beforeAll(async () => {
  cluster = await startCluster()
  second = cluster.nodes[1]!
})

const cover = 'While a part of Redis has no primary'

test.each([
  ['Redis maxmemory-policy', 'CONFIG SET maxmemory-policy allkeys-lru', 'CONFIG SET maxmemory-policy volatile-lru', /^not ok: redis-2 has allkeys-lru, but must be volatile-lru/],
  [cover, 'CONFIG SET cluster-require-full-coverage yes', 'CONFIG SET cluster-require-full-coverage no', /^not ok: redis-2 stops answering .* set cluster-require-full-coverage to no$/],
  [cover, 'CONFIG SET cluster-node-timeout 60000', 'CONFIG SET cluster-node-timeout 1000', /^not ok: redis-2 waits for 60 s .* set cluster-node-timeout to 5000$/],
  ['What QuickLink may do in Redis', 'ACL SETUSER quicklink -cluster|slots', 'ACL SETUSER quicklink +cluster|slots', /^not ok: redis-2 does not let quicklink cluster slots: /],
  ['What QuickLink may do in Redis', 'ACL SETUSER quicklink -unlink', 'ACL SETUSER quicklink +unlink', /^not ok: redis-2 does not let quicklink unlink ql:v1:404:a: /],
])('%s: %s is told, and ends with %s', async (point, spoil, mend, told) => {
  expect(await says(point)).toMatch(/^ok: /)
  expect(await cluster.tell(second, spoil)).toBe('+OK')
  expect(await says(point)).toMatch(told)
  expect(await cluster.tell(second, mend)).toBe('+OK')
  expect(await says(point)).toMatch(/^ok: /)
}) // prettier-ignore

test('a part whose replica is gone is told', async () => {
  const point = 'Each part of Redis has a replica'
  expect(await says(point)).toBe('ok: each of 3')
  // The first three are the primaries, in the order of their replicas.
  await cluster.nodes[4]!.server.kill()
  await waitFor(async () => (await says(point)) === `not ok: nobody takes the place of ${second.address}`, {
    deadlineMs: 60_000,
  })
})
