// A PgBouncer of a test's own, as poolers are run for many clients: each transaction has whichever connection is free.
import { chownSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { launch } from '../embedded/daemon.ts'
import { makeOwnDir, postgresUser } from '../embedded/postgres-binaries.ts'
import { freePort } from '../embedded/process.ts'
import { serve, type LocalServer } from '../embedded/temporary.ts'

/** Connections to Postgres, for all who connect here. */
export const pooledConnections = 3

export async function startPgBouncer(file: string, dir: string, databaseUrl: string): Promise<LocalServer> {
  const url = new URL(databaseUrl)
  const port = await freePort()
  const user = postgresUser()
  makeOwnDir(dir, user)
  const write = (name: string, lines: readonly string[]): string => {
    const path = join(dir, name)
    writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o600 })
    if (user) chownSync(path, user.uid, user.gid)
    return path
  }
  const users = write('users.txt', [`"${url.username}" "${decodeURIComponent(url.password)}"`])
  const config = write('pgbouncer.ini', [
    '[databases]',
    `* = host=${url.hostname} port=${url.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    `default_pool_size = ${pooledConnections}`,
    'max_client_conn = 200',
  ])
  const env = { PATH: process.env['PATH'], LC_ALL: 'C' }
  const how = { name: 'PgBouncer', file, args: [config], cwd: dir, env, detached: false, user, deadlineMs: 20_000 }
  const logFile = join(dir, 'pgbouncer.log')
  const start = (): Promise<number> => launch({ ...how, logFile, ready: () => accepts(port) })
  const through = Object.assign(new URL(databaseUrl), { hostname: '127.0.0.1', port: String(port) }).href
  return serve({ url: through, port, word: config, dir, stopSignal: 'SIGINT', start })
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
