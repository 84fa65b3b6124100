// One real Postgres and one real Redis for all integration tests of a run; gone with everything of theirs afterwards.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { newPassword, projectDir } from '../embedded/paths.ts'
import { withSql } from '../embedded/sql.ts'
import { withDatabaseLock } from '../server/connections/migrate.ts'
import { startDockerServices } from './docker-services.ts'
import {
  dieWithMe,
  makeCluster,
  makeRunDir,
  removeDir,
  startLocalPostgres,
  startLocalRedis,
} from '../embedded/temporary.ts'

export interface SharedServices {
  readonly adminUrl: string
  readonly redisUrl: string
  /** Of the role `quicklink`, which owns the tests' databases. */
  readonly rolePassword: string
  readonly runDir: string
  /** For private clusters: data folders, as initialised and with the database made, and the superuser's password. Absent with containers. */
  readonly template?: { readonly bare: string; readonly made: string; readonly password: string }
}

declare module 'vitest' {
  interface ProvidedContext {
    services: SharedServices
  }
}

/** Each test that asks for an empty Redis gets one of these. */
export const redisDatabases = 4096

/** What Node has compiled before: half of what a process costs until it serves. */
export const compileCache = join(projectDir, '.cache', 'compiled')

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  fillCompileCache()
  const runDir = makeRunDir()
  const callOff = dieWithMe(undefined, runDir)
  const rolePassword = newPassword()
  const { stop, ...services } = await startServices(runDir, (adminUrl) => makeDatabase(adminUrl, rolePassword))
  project.provide('services', { ...services, rolePassword, runDir })
  return async () => {
    await stop()
    removeDir(runDir)
    callOff()
  }
}

/** Only a process that ends by itself writes what it has compiled, and most servers of tests are killed. */
function fillCompileCache(): void {
  const all = ['app', 'boot', 'processes/supervisor', 'processes/worker', 'links/upkeep']
  const script = all.map((name) => `await import('./server/${name}.ts')`).join('\n')
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache }
  spawnSync(process.execPath, ['--input-type=module', '-e', `${script}\nprocess.exit()`], { cwd: projectDir, env })
}

/** With the tables of QuickLink, which cost more to make than to copy. Its role owns it and is no superuser, as in production. */
export async function makeDatabase(adminUrl: string, password: string): Promise<void> {
  await withSql(adminUrl, async (sql) => {
    await sql.query(`create role quicklink login password '${password}'`)
    await sql.query('create database quicklink owner quicklink')
  })
  const url = Object.assign(new URL(adminUrl), { username: 'quicklink', password, pathname: '/quicklink' })
  await withDatabaseLock({ url: url.href, connectMs: 30_000, onInfo: () => undefined }, () => Promise.resolve())
}

type Started = Omit<SharedServices, 'rolePassword' | 'runDir'> & { stop(): Promise<void> }

/** TEST_SERVICES=docker|local decides; without it, containers where they can be had. */
async function startServices(runDir: string, make: (adminUrl: string) => Promise<void>): Promise<Started> {
  const wish = process.env['TEST_SERVICES']
  const docker = wish === 'local' ? undefined : await containers(wish === 'docker')
  if (docker) {
    await make(docker.adminUrl)
    return docker
  }
  if (wish === 'docker') throw new Error('TEST_SERVICES is docker, but no Docker engine answers or has the images.')
  const password = newPassword()
  const like = { runDir, superuserPassword: password }
  const { dataDir: bare } = await makeCluster({ ...like, dir: join(runDir, 'postgres', 'bare') })
  const first = await startLocalPostgres({ ...like, dir: join(runDir, 'postgres', 'made'), template: bare })
  await make(first.url)
  await first.stop()
  const template = { bare, made: join(first.dir, 'data'), password }
  const [postgres, redis] = await Promise.all([
    startLocalPostgres({ ...like, dir: join(runDir, 'postgres', 'shared'), template: template.made }),
    startLocalRedis({ dir: join(runDir, 'redis'), config: [`databases ${redisDatabases}`, 'save ""'] }),
  ])
  return {
    adminUrl: postgres.url,
    redisUrl: redis.url,
    template,
    async stop() {
      await Promise.all([redis.kill(), postgres.kill()])
    },
  }
}

async function containers(insisted: boolean): Promise<Started | undefined> {
  try {
    return await startDockerServices(redisDatabases)
  } catch (error) {
    if (insisted) throw error
    console.log(`A Docker engine answers, but its containers do not start, so the tests do without: ${String(error)}`)
    return undefined
  }
}
