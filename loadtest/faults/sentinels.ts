// A primary and its replica, with passwords, and three Sentinels. The replica can be cut off, and the primary killed, so
// that the Sentinels promote a replica which has not seen the last changes.
//
// It is cut off by a wrong password instead of by a proxy on its way to the primary: Sentinels see that a replica
// follows another address than the one they watch, and set it right, past the proxy.
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { launch } from '../../embedded/daemon.ts'
import { newPassword } from '../../embedded/paths.ts'
import { freePort } from '../../embedded/process.ts'
import { askRedis } from '../../embedded/redis-process.ts'
import { redisProgram, serve, startLocalRedis, type LocalServer } from '../../embedded/temporary.ts'
import { waitFor } from '../../embedded/wait.ts'
import { startFaultProxy } from './fault-proxy.ts'

export type SentinelGroup = Awaited<ReturnType<typeof startSentinelGroup>>

const name = 'quicklink'
const quorum = 2

/** A replica that was cut off for ten times as long before the primary was gone is not promoted. */
const downAfterMs = 500

export async function startSentinelGroup(dir: string, goneAfterMs = downAfterMs) {
  const password = newPassword()
  const config = [`masterauth ${password}`, 'save ""', 'repl-diskless-sync-delay 0']
  const startRedis = (role: string, ...more: string[]): Promise<LocalServer> =>
    startLocalRedis({ dir: join(dir, role), password, config: [...config, ...more] })
  const primary = await startRedis('primary')
  const replica = await startRedis('replica', `replicaof 127.0.0.1 ${primary.port}`)
  await waitFor(async () => (await info(replica)).includes('master_link_status:up'), { deadlineMs: 15_000 })
  const sentinels = await Promise.all(
    [1, 2, 3].map((n) => startSentinel(join(dir, `sentinel-${n}`), primary.port, password, goneAfterMs)),
  )
  const all = [primary, replica, ...sentinels]
  const ports = sentinels.map(({ port }) => port)
  const everyoneKnowsAll = async (): Promise<boolean> =>
    (await Promise.all(ports.map((port) => ask(port, `SENTINEL MASTER ${name}`)))).every(
      (state) => field(state, 'num-slaves') === '1' && field(state, 'num-other-sentinels') === '2',
    )
  await waitFor(everyoneKnowsAll, { deadlineMs: 20_000, everyMs: 50 })
  const [first, ...others] = ports as [number, number, number]
  const firstSentinel = await startFaultProxy({ host: '127.0.0.1', port: first })
  return {
    /** What a server needs to find the primary. */
    env: {
      REDIS_SENTINELS: [firstSentinel.port, ...others].map((port) => `127.0.0.1:${port}`).join(','),
      REDIS_SENTINEL_NAME: name,
      REDIS_PASSWORD: password,
    },
    primary,
    replica,
    /** On the way of the servers to the Sentinel that they ask first. */
    firstSentinel,
    /** From here on the replica gets nothing of what the primary does. */
    async cutReplica(): Promise<void> {
      await tell(replica, 'CONFIG SET masterauth not-the-password')
      await tell(replica, 'CLIENT KILL TYPE master')
      await waitFor(async () => (await info(replica)).includes('master_link_status:down'), { deadlineMs: 5000 })
    },
    /** Resolves when all Sentinels call the replica the primary. */
    async promoted(): Promise<void> {
      const primaries = (): Promise<string[]> =>
        Promise.all(ports.map((port) => ask(port, `SENTINEL GET-MASTER-ADDR-BY-NAME ${name}`)))
      const isReplica = (answer: string): boolean => answer.endsWith(`\r\n${replica.port}`)
      await waitFor(async () => (await primaries()).every(isReplica), { deadlineMs: 60_000, everyMs: 50 })
    },
    /** All of them, with a word of their command lines. */
    processes: all.map(({ pid, word }) => ({ pid, word })),
    async close(): Promise<void> {
      await Promise.all([...all.map((each) => each.kill()), firstSentinel.close()])
    },
  }
}

const tell = ({ url, port }: LocalServer, command: string): Promise<string | undefined> =>
  askRedis(port, decodeURIComponent(new URL(url).password), command)

const info = async (redis: LocalServer): Promise<string> => (await tell(redis, 'INFO replication')) ?? ''

/** The answer as it came; empty when there is none in time. */
const ask = (port: number, command: string): Promise<string> =>
  new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1')
      .setEncoding('utf8')
      .setTimeout(500, () => socket.destroy())
    socket.on('data', (text: string) => (answer += text)).on('error', () => undefined)
    socket.on('close', () => resolve(answer.trim()))
    socket.end(`${command}\r\n`)
  })

/** Of a reply that lists names and values in turn. */
function field(reply: string, name: string): string | undefined {
  const lines = reply.split('\r\n')
  return lines[lines.indexOf(name) + 2]
}

async function startSentinel(
  dir: string,
  primaryPort: number,
  password: string,
  goneAfterMs: number,
): Promise<LocalServer> {
  const port = await freePort()
  const { file } = await redisProgram()
  mkdirSync(dir, { mode: 0o700, recursive: true })
  const config = join(dir, 'sentinel.conf')
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${dir}`,
    // By the name of its configuration a process is known as ours.
    'proc-title-template "{title} {config-file} {listen-addr} {server-mode}"',
    `sentinel monitor ${name} 127.0.0.1 ${primaryPort} ${quorum}`,
    `sentinel auth-pass ${name} ${password}`,
    `sentinel down-after-milliseconds ${name} ${goneAfterMs}`,
    `sentinel failover-timeout ${name} 3000`,
  ]
  writeFileSync(config, `${lines.join('\n')}\n`, { mode: 0o600 })
  const start = async (): Promise<number> => {
    const pid = await launch({
      ...{ name: 'A Sentinel', file, args: [config, '--sentinel'], cwd: dir, logFile: join(dir, 'sentinel.log') },
      env: { PATH: process.env['PATH'] },
      detached: false,
      ready: async () => (await ask(port, 'PING')) === '+PONG',
      deadlineMs: 10_000,
    })
    // Whoever was late by two seconds does nothing for half a minute, and on a busy machine many are late.
    await ask(port, 'SENTINEL DEBUG TILT-PERIOD 1000')
    return pid
  }
  return serve({ url: `redis://127.0.0.1:${port}`, port, word: config, dir, stopSignal: 'SIGTERM', start })
}
