// Two PostgreSQL that Patroni looks after, the etcd in which it keeps who leads, and the HAProxy through which the leader and
// the standby are found: as it is run for real, from the distribution's packages, on ports and in folders of its own.
//
//   QuickLink ──▶ HAProxy :primary ──▶ whoever leads       (asks each Patroni: GET /primary)
//             └─▶ HAProxy :standby ──▶ whoever follows     (GET /replica)
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from '../../embedded/ask.ts'
import { clusterDaemon, running } from '../../embedded/cluster.ts'
import { launch, type User } from '../../embedded/daemon.ts'
import { newPassword } from '../../embedded/paths.ts'
import { makeDatabase } from '../../embedded/postgres.ts'
import { makeOwnDir, postgresUser } from '../../embedded/postgres-binaries.ts'
import { freePort } from '../../embedded/process.ts'
import { onPath } from '../../embedded/redis-process.ts'
import { serve, type LocalServer } from '../../embedded/temporary.ts'
import { waitFor } from '../../embedded/wait.ts'
import { startFaultProxy, type FaultProxy } from './fault-proxy.ts'

export type PatroniGroup = Awaited<ReturnType<typeof startPatroniGroup>>

/** A change is acknowledged when the standby has it, too, or as soon as the leader has it. */
export type Standby = 'synchronous' | 'asynchronous'

const binDir = '/usr/lib/postgresql/15/bin'
const programs = ['patroni', 'etcd', 'haproxy']

/** Why there can be none here; undefined: there can. */
export const noPatroni = (): string | undefined =>
  existsSync(join(binDir, 'pg_rewind')) && programs.every((name) => onPath(name) !== undefined)
    ? undefined
    : 'Patroni, etcd, HAProxy or PostgreSQL 15 is not installed (Debian: apt install patroni etcd-server haproxy postgresql-15)'

/** The shortest that Patroni takes: for so long nobody leads after a machine has died. */
const leaseS = 20

/** As Patroni calls them; `sync`: one that has whatever was acknowledged. */
type Role = 'primary' | 'replica' | 'sync'

interface Member {
  readonly name: string
  readonly port: number
  readonly restPort: number
  readonly toFollowers: FaultProxy
  /** The machine dies: Patroni and its Postgres, at once and without a word. */
  kill(): Promise<void>
  /** The machine is there again. */
  start(): Promise<void>
  is(role: Role): Promise<boolean>
}

export async function startPatroniGroup(dir: string, standby: Standby, begun: (pid: number, word: string) => void) {
  const passwords = { superuser: newPassword(), replication: newPassword(), quicklink: newPassword() }
  const user = postgresUser()
  makeOwnDir(dir, user)
  const etcd = await startEtcd(dir, user)
  begun(etcd.pid, etcd.word)
  const start = (name: string): Promise<Member> => startMember({ ...{ dir, name, user, passwords, standby, begun }, etcdPort: etcd.port }) // prettier-ignore
  const first = await start('first')
  await waitFor(() => first.is('primary'), { deadlineMs: 60_000, everyMs: 100 })
  const second = await start('second')
  const all = [first, second]
  const proxy = await startHaproxy(dir, user, all)
  begun(proxy.pid, proxy.word)
  const url = (role: 'quicklink' | 'postgres', port: number): string =>
    `postgres://${role}:${role === 'postgres' ? passwords.superuser : passwords.quicklink}@127.0.0.1:${port}/quicklink`
  await makeDatabase(`postgres://postgres:${passwords.superuser}@127.0.0.1:${first.port}/postgres`, passwords.quicklink)
  const leader = async (): Promise<Member | undefined> => {
    for (const each of all) if (await each.is('primary')) return each
    return undefined
  }
  const followed: Role = standby === 'synchronous' ? 'sync' : 'replica'
  /** Resolves when one leads and the other follows it. */
  const whole = async (): Promise<void> => {
    const isWhole = async (): Promise<boolean> => {
      const leads = await leader()
      const other = all.find((each) => each !== leads)
      return leads !== undefined && other !== undefined && (await other.is(followed))
    }
    await waitFor(isWhole, { deadlineMs: 90_000, everyMs: 100 })
  }
  await whole()
  return {
    /** Where the leader is found, and where the standby is. */
    ports: { primary: proxy.port, standby: proxy.standbyPort },
    url: url('quicklink', proxy.port),
    readUrl: url('quicklink', proxy.standbyPort),
    adminUrl: url('postgres', proxy.port),
    leader,
    /** From here on nobody gets what the leader does. */
    async cut(): Promise<void> {
      for (const { toFollowers } of all) await toFollowers.refuse()
    },
    async mend(): Promise<void> {
      for (const { toFollowers } of all) await toFollowers.pass()
    },
    whole,
    async close(): Promise<void> {
      await Promise.all([proxy.kill(), ...all.flatMap((each) => [each.kill(), each.toFollowers.close()])])
      await etcd.kill()
    },
  }
}

const env = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }

/** The folder lets nobody in but Postgres' user: there are passwords in some. */
function write(path: string, text: string): string {
  writeFileSync(path, text, { mode: 0o644 })
  return path
}

const answers = async (port: number, path: string): Promise<number> =>
  (await ask(`http://127.0.0.1:${port}`, path, { timeoutMs: 1000 }).catch(() => ({ status: 0 }))).status

async function startEtcd(dir: string, user: User | undefined): Promise<LocalServer> {
  const [port, peerPort] = [await freePort(), await freePort()]
  const here = (at: number): string => `http://127.0.0.1:${at}`
  const data = join(dir, 'etcd')
  const args = [
    ...['--name', 'only', '--data-dir', data, '--initial-cluster', `only=${here(peerPort)}`, '--log-level', 'error'],
    ...['--listen-client-urls', here(port), '--advertise-client-urls', here(port)],
    ...['--listen-peer-urls', here(peerPort), '--initial-advertise-peer-urls', here(peerPort)],
  ]
  const how = { name: 'etcd', file: 'etcd', args, cwd: dir, env, user, detached: false, deadlineMs: 20_000 }
  const ready = async (): Promise<boolean> => (await answers(port, '/health')) === 200
  const start = (): Promise<number> => launch({ ...how, logFile: join(dir, 'etcd.log'), ready })
  return serve({ url: here(port), port, word: data, dir, stopSignal: 'SIGTERM', start })
}

interface MemberOptions {
  readonly dir: string
  readonly name: string
  readonly user: User | undefined
  readonly passwords: { readonly superuser: string; readonly replication: string }
  readonly standby: Standby
  readonly etcdPort: number
  readonly begun: (pid: number, word: string) => void
}

async function startMember({ dir, name, user, passwords, standby, etcdPort, begun }: MemberOptions): Promise<Member> {
  const [port, restPort] = [await freePort(), await freePort()]
  const dataDir = join(dir, name)
  // On the way of whoever follows it, and of nobody else.
  const toFollowers = await startFaultProxy({ host: '127.0.0.1', port })
  // Patroni reads YAML, of which JSON is a part.
  const config = {
    scope: 'quicklink',
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ttl: leaseS,
        loop_wait: 1,
        retry_timeout: 5,
        synchronous_mode: standby === 'synchronous',
        postgresql: {
          use_pg_rewind: true,
          // The drill kills processes, not machines: what was committed is with the kernel by then.
          parameters: { max_connections: 200, shared_buffers: '64MB', wal_log_hints: 'on', fsync: 'off', timezone: 'UTC' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { 'auth-host': 'scram-sha-256' }],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${toFollowers.port}`,
      data_dir: dataDir,
      bin_dir: binDir,
      parameters: { unix_socket_directories: '' },
      pg_hba: ['host all all 127.0.0.1/32 scram-sha-256', 'host replication replication 127.0.0.1/32 scram-sha-256'],
      authentication: {
        superuser: { username: 'postgres', password: passwords.superuser },
        replication: { username: 'replication', password: passwords.replication },
        rewind: { username: 'postgres', password: passwords.superuser },
      },
    },
  } // prettier-ignore
  const file = write(join(dir, `${name}.yml`), JSON.stringify(config))
  const how = { name: 'Patroni', file: 'patroni', args: [file], cwd: dir, env, user, detached: false, deadlineMs: 60_000 } // prettier-ignore
  const ready = async (): Promise<boolean> => (await answers(restPort, '/liveness')) === 200
  const start = (): Promise<number> => launch({ ...how, logFile: join(dir, `${name}.log`), ready, begun: (pid) => begun(pid, file) }) // prettier-ignore
  const patroni = await serve({ url: '', port: restPort, word: file, dir, stopSignal: 'SIGTERM', start })
  const postgres = clusterDaemon(dataDir)
  /** It starts Postgres in the background, and is not its parent. */
  const noted = async (): Promise<void> => {
    const pid = await waitFor(() => running(dataDir)?.pid, { deadlineMs: 60_000, everyMs: 50 })
    begun(pid, dataDir)
  }
  await noted()
  return {
    ...{ name, port, restPort, toFollowers },
    async kill() {
      await patroni.kill()
      await postgres.kill()
    },
    async start() {
      await patroni.restart()
      await noted()
    },
    is: async (role) => (await answers(restPort, `/${role}`)) === 200,
  }
}

async function startHaproxy(dir: string, user: User | undefined, members: readonly Member[]) {
  const [port, standbyPort] = [await freePort(), await freePort()]
  const to = (role: string, at: number): string[] => [
    `listen ${role}`,
    `  bind 127.0.0.1:${at}`,
    `  option httpchk GET /${role}`,
    '  http-check expect status 200',
    // Who no longer has its role loses its connections at once.
    '  default-server check inter 300ms rise 1 fall 2 on-marked-down shutdown-sessions',
    ...members.map((each) => `  server ${each.name} 127.0.0.1:${each.port} port ${each.restPort}`),
  ]
  const lines = [
    'defaults',
    '  mode tcp',
    '  timeout connect 1s',
    '  timeout check 1s',
    '  timeout client 1h',
    '  timeout server 1h',
    ...to('primary', port),
    ...to('replica', standbyPort),
  ]
  const file = write(join(dir, 'haproxy.cfg'), `${lines.join('\n')}\n`)
  const how = { name: 'HAProxy', file: 'haproxy', args: ['-f', file, '-db'], cwd: dir, env, user, detached: false, deadlineMs: 20_000 } // prettier-ignore
  const start = (): Promise<number> => launch({ ...how, logFile: join(dir, 'haproxy.log'), ready: (pid) => pid > 0 })
  const server = await serve({ url: '', port, word: file, dir, stopSignal: 'SIGTERM', start })
  return Object.assign(server, { standbyPort })
}
