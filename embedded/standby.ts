// A standby of a Postgres on this machine, for tests and drills: its data folder is copied while it runs, and follows it from there. (The
// PostgreSQL from npm has no pg_basebackup.)
import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeOwnDir, postgresUser } from './postgres-binaries.ts'
import { openSql } from './sql.ts'
import { startLocalPostgres, type LocalServer } from './temporary.ts'

interface StandbyOptions {
  /** By the URL of a superuser, who may replicate. */
  readonly superuser: Pick<LocalServer, 'url' | 'dir'>
  readonly dir: string
  readonly runDir: string
  readonly settings?: readonly string[]
}

export async function startStandby({ superuser, dir, runDir, settings = [] }: StandbyOptions): Promise<LocalServer> {
  const user = postgresUser()
  mkdirSync(dirname(dir), { recursive: true })
  makeOwnDir(dir, user)
  const dataDir = join(dir, 'data')
  // A backup belongs to its session.
  const session = openSql(superuser.url, { maxConnections: 1 })
  try {
    await session.query(`select pg_backup_start('standby', true)`)
    execFileSync('cp', ['-a', join(superuser.dir, 'data'), dataDir])
    const [stopped] = await session.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    rmSync(join(dataDir, 'postmaster.pid'), { force: true })
    for (const [name, text] of [
      ['backup_label', stopped?.labelfile ?? ''],
      ['standby.signal', ''],
    ] as const) {
      const file = join(dataDir, name)
      writeFileSync(file, text, { mode: 0o600 })
      if (user) chownSync(file, user.uid, user.gid)
    }
  } finally {
    await session.close()
  }
  const { hostname, port, username, password } = new URL(superuser.url)
  const primary = `host=${hostname} port=${port} user=${username} password=${decodeURIComponent(password)}`
  const standby = await startLocalPostgres({
    dir,
    runDir,
    superuserPassword: decodeURIComponent(password),
    settings: [`primary_conninfo=${primary}`, ...settings],
  })
  return standby
}
