// A real Redis Cluster over TLS: its nodes are found by names that they tell of each other, which their certificates have to be for.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, inject, test } from 'vitest'
import { startTestApp } from '../../testing/app.ts'
import { makeCa } from '../../testing/certificates.ts'
import { freshDatabase, startCluster, waitFor } from '../../testing/services.ts'

const patience = { deadlineMs: 60_000 }
const dir = join(inject('services').runDir, 'cluster-tls')
mkdirSync(dir)
const { file: ca, sign } = makeCa(dir, 'ours')
const cluster = await startCluster({ primaries: 2, tls: { ...sign('localhost'), ca } })
// A handshake may take longer than usual here, beside other work.
const env = { ...cluster.env, REDIS_CLUSTER: cluster.nodes[0]!.address, REDIS_TIMEOUT_MS: '1000', LOG_LEVEL: 'warn' }
let logged = ''
const logTo = new PassThrough().on('data', (chunk: Buffer) => (logged += chunk.toString()))
const databaseUrl = await freshDatabase()
const first = await startTestApp({ databaseUrl, env, logTo })
const statusOf = ({ app }: typeof first) => (app.status() as { redis: { ready: boolean; trusted: boolean } }).redis

test('from one name all primaries are found and spoken to by TLS alone', async () => {
  await waitFor(() => statusOf(first).trusted, patience)
  for (const node of cluster.nodes.slice(0, 2)) {
    const clients = await cluster.tell(node, 'CLIENT LIST')
    const ours = clients.split('\n').filter((line) => line.includes(' user=quicklink '))
    const ports = ours.map((line) => / laddr=\S+:(\d+) /.exec(line)?.[1])
    expect(new Set(ports)).toEqual(new Set([node.address.split(':')[1]]))
  }
  const code = await first.create('https://example.org/secret')
  const other = await startTestApp({ databaseUrl, env, logTo, key: first.key })
  await waitFor(() => statusOf(other).trusted, patience)
  await waitFor(async () => {
    expect((await other.get(`/${code}`)).status).toBe(302)
    return (await other.metric('quicklink_lookups_total', { source: 'redis' })) > 0
  }, patience)
})

const refused =
  /"The certificate of Redis at 127\.0\.0\.1:\d+ is not for 127\.0\.0\.1: REDIS_CLUSTER, and the nodes by cluster-announce-hostname [^"]*, have to use names that are in it\."/

test('nodes that tell of each other by what is not in their certificate are refused, and links are answered all the same', async () => {
  const code = await first.create('https://example.org/by-address')
  for (const node of cluster.nodes) await cluster.tell(node, 'CONFIG SET cluster-preferred-endpoint-type ip')
  await waitFor(() => !statusOf(first).trusted, patience)
  await waitFor(() => refused.test(logged), patience)
  expect((await first.get(`/${code}`)).status).toBe(302)
  for (const node of cluster.nodes) await cluster.tell(node, 'CONFIG SET cluster-preferred-endpoint-type hostname')
  await waitFor(() => statusOf(first).trusted, patience)
})
