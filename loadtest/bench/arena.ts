// All that is measured side by side: services, the servers, and 100,000 links, loaded by SQL.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { freePort } from '../../embedded/process.ts'
import { encode } from '../../server/coherence/schema.ts'
import { singleKeys } from '../../server/redis-keys.ts'
import type { Code } from '../../server/link.ts'
import { dieWithMe, redisProgram } from '../../embedded/temporary.ts'
import { startFaultProxy, type FaultProxy } from '../faults/fault-proxy.ts'
import { waitFor } from '../../embedded/wait.ts'
import { ask } from '../../embedded/ask.ts'
import { pin, planCores } from '../measure/cpu.ts'
import { pipeToRedis } from '../measure/redis-pipe.ts'
import type { Load } from './loads.ts'
import { startProxy, type Alone, type ProxyName } from './proxies.ts'
import { openStand, type BenchServer, type Stand } from './stand.ts'

export const hotCode = 'hot-link'
export const hot: Load = { paths: { kind: 'one', path: `/${hotCode}` }, headers: [], status: 302 }
export const linkCount = 100_000
/** Far more than tier 1 holds: one in twenty requests finds its code there. */
export const warmCount = 20_000

export interface Contestant {
  readonly url: string
  readonly pid: number
}

/** BENCH=profile: node writes what each process of QuickLink has spent its time in, when it ends. */
export const profileDir = 'loadtest/reports/profile'
const profiling =
  process.env['BENCH'] === 'profile' ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profileDir}` } : undefined

type PeerKind = 'net' | 'netClose' | 'http'

export type Arena = Awaited<ReturnType<typeof openArena>>

export async function openArena() {
  const cores = planCores()
  const stand = await openStand()
  for (const { pid } of [stand.postgres, stand.redis]) pin(pid, cores?.services)
  /** Of the owner, on every server. */
  const key = `ql_${randomBytes(24).toString('base64url')}`
  const endings: (() => void)[] = []
  return {
    stand,
    cores,
    key,
    /** One of those that QuickLink is compared with. */
    async peer(kind: PeerKind): Promise<Contestant> {
      const peer = await startPeer(kind)
      endings.push(peer.end)
      pin(peer.pid, cores?.server)
      return peer
    },
    async quickLink(env: Record<string, string>, own = cores?.server): Promise<BenchServer> {
      const server = await stand.startServer({ OWNER_KEY: key, ...profiling, ...env })
      pin(server.pid, own)
      return server
    },
    /** The same server, reached through a proxy: only its own work counts. */
    async behind(proxy: ProxyName, { url: direct, pid }: Contestant): Promise<Contestant> {
      const ports = { own: await freePort(), upstream: Number(new URL(direct).port) }
      endings.push(startProxy(proxy, ports, cores?.generator).end)
      const url = `http://127.0.0.1:${ports.own}`
      await isThere(url)
      return { url, pid }
    },
    /** A proxy that answers by itself, where a server would be. */
    async alone(proxy: Alone): Promise<Contestant> {
      const own = await freePort()
      const { pid, end } = startProxy(proxy, { own, upstream: 0 }, cores?.server)
      endings.push(end)
      const url = `http://127.0.0.1:${own}`
      await isThere(url)
      return { url, pid }
    },
    /** With one key, open to whoever reaches this machine's loopback. */
    async plainRedis(key: string, value: string): Promise<Contestant> {
      const port = await freePort()
      const { file } = await redisProgram()
      const child = spawn(file, ['--port', String(port), '--bind', '127.0.0.1', '--save', ''], {
        stdio: 'ignore',
        cwd: tmpdir(),
      })
      const callOff = dieWithMe(child.pid)
      endings.push(() => {
        callOff()
        child.kill('SIGKILL')
      })
      const pid = child.pid ?? 0
      pin(pid, cores?.server)
      await waitFor(async () => (await sayTo(port, `SET ${key} ${value}\r\n`)) === '+OK\r\n', { deadlineMs: 10_000 })
      return { url: `http://127.0.0.1:${port}`, pid }
    },
    /** Between a server and Postgres, so that Postgres can be taken away. */
    async proxiedPostgres(): Promise<{ cut: FaultProxy; url: string }> {
      const url = new URL(stand.postgres.url)
      const cut = await startFaultProxy({ host: url.hostname, port: Number(url.port) })
      endings.push(() => void cut.close())
      url.host = `${cut.host}:${cut.port}`
      return { cut, url: url.href }
    },
    async [Symbol.asyncDispose](): Promise<void> {
      for (const end of endings) end()
      await stand.close()
    },
  }
}

/** A line, and the first that comes back. */
async function sayTo(port: number, line: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  try {
    socket.write(line)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    return answer.toString('latin1')
  } finally {
    socket.destroy()
  }
}

export async function startPeer(kind: PeerKind): Promise<Contestant & { end(): void }> {
  const port = await freePort()
  const file = new URL('peer.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [file, kind, String(port)], { stdio: ['ignore', 'ignore', 'inherit'] })
  const callOff = dieWithMe(child.pid)
  const url = `http://127.0.0.1:${port}`
  await isThere(url)
  const end = (): void => {
    callOff()
    child.kill('SIGKILL')
  }
  return { url, pid: child.pid ?? 0, end }
}

const isThere = (url: string): Promise<unknown> =>
  waitFor(async () => (await ask(url, `/${hotCode}`)).status === 302, { deadlineMs: 20_000 })

/** In one statement, as an import would: after a first server has made the tables, which may still be building an index. */
export async function loadLinks({ sql }: Stand, count = linkCount): Promise<void> {
  const url = 'https://example.org/a/page/of/usual/length?from=quicklink'
  await besideIndexes(() => sql.query(`insert into links (code, url) values ('${hotCode}', '${url}')`))
  await besideIndexes(() =>
    sql.query(
      `insert into links (code, url) select 'link-' || n, '${url}&n=' || n from generate_series(0, ${count - 1}) n`,
    ),
  )
  await besideIndexes(() => sql.query('analyze links'))
}

/** An index that is built and whoever writes may wait for each other: Postgres lets one of them go. There are some twenty indexes. */
async function besideIndexes(work: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await work()
      return
    } catch (error) {
      if ((error as { code?: string }).code !== '40P01' || tries === 30) throw error
    }
  }
}

/** What a server would have filled in time. Not before one has made this Redis fresh: that unlinks everything. */
export async function warmRedis({ sql, redis }: Stand, count = warmCount): Promise<void> {
  const chunk = 20_000
  for (let from = 0; from < count; from += chunk) {
    const rows = await sql.query<{ code: Code; id: number; url: string; version: number }>(
      `select code, id, url, version from links
       where code = any (select 'link-' || n from generate_series($1::int, $2::int) n)`,
      [from, Math.min(count, from + chunk) - 1],
    )
    const commands = rows.map((row) => {
      const known = {
        ...row,
        permanent: false,
        startsAtS: null,
        expiresAtS: null,
        expiredUrl: null,
        forwardQuery: false,
        monthlyHits: null,
      }
      return ['SET', singleKeys.link(row.code), encode(known, Date.now()), 'EX', '3600']
    })
    await pipeToRedis(redis.url, commands)
  }
}

export async function trusted(server: BenchServer): Promise<void> {
  const good = async (): Promise<boolean> => (await server.status()).every((worker) => worker?.redis.trusted === true)
  await waitFor(good, { deadlineMs: 30_000, everyMs: 50 })
}
