// The containers of a compose project, looked into through a door.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { docker, dockerProblem } from '../../../appliance/compose.ts'
import { Refusal } from '../../../embedded/paths.ts'
import { askRedis } from '../../../embedded/redis-process.ts'
import { containerService, fileIn } from '../../faults/containers.ts'
import type { Address } from '../../faults/fault-proxy.ts'
import type { Proxies } from '../../faults/proxies.ts'
import { applianceAt, openSql, type Appliance, type Dependency } from './appliance.ts'
import { basic } from '../../report/grafana.ts'
import type { Cleanup } from './cleanup.ts'

interface Project {
  readonly project: string
  readonly mode: string
  readonly url: string
  /** Of loopback. */
  readonly ports: Readonly<Record<Dependency | 'ops', number>>
  readonly proxies: Proxies<Dependency>
  readonly prometheusUrl?: string
  readonly workers: number
  readonly breakerOpenMs?: number
}

export async function refuseWithoutDocker(what: string): Promise<void> {
  const problem = await dockerProblem()
  if (problem !== undefined) throw new Refusal(`${what} needs Docker, but ${problem}.`)
}

/** By the name of its container, which is another one's alias in no network. */
export const at = (project: string, service: string, port: number): Address => ({
  host: `${project}-${service}-1`,
  port,
})

export async function projectAppliance(cleanup: Cleanup, given: Project): Promise<Appliance> {
  const { project, ports } = given
  const [ownerKey, databaseUrl, operator] = await Promise.all([
    fileIn(`${project}-quicklink-1`, '/data/owner-key'),
    fileIn(`${project}-quicklink-1`, '/run/quicklink/database-url'),
    fileIn(`${project}-redis-1`, '/run/quicklink/operator'),
  ])
  const sql = openSql(Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${ports.postgres}` }).href)
  const answersSql = async (): Promise<boolean> => (await sql.query('select 1').catch(() => [])).length > 0
  const redis = (command: string) => askRedis(ports.redis, operator, command, '127.0.0.1', 'operator')
  const access = {
    ...given,
    opsUrl: `http://127.0.0.1:${ports.ops}`,
    sql,
    redis,
    services: {
      redis: containerService(`${project}-redis-1`, async () => (await redis('PING')) === '+PONG'),
      postgres: containerService(`${project}-postgres-1`, answersSql),
    },
    async signalWorker(pid: number, signal: string) {
      await docker(['exec', `${project}-quicklink-1`, 'node', '-e', `process.kill(${pid}, '${signal}')`])
    },
    grafana: await grafanaOf(project),
    async close() {
      const { text, errors } = await docker(['logs', '--tail', '2000', `${project}-quicklink-1`])
      writeFileSync(join(cleanup.dir, 'server.log'), text + errors)
    },
  }
  return applianceAt(access, ownerKey)
}

/** Undefined: there is none, or it is not up. */
async function grafanaOf(project: string): Promise<Appliance['grafana']> {
  const container = `${project}-grafana-1`
  const published = await docker(['port', container, '3000'])
  const password = await docker(['exec', container, 'cat', '/run/quicklink/admin'])
  if (published.code !== 0 || password.code !== 0) return undefined
  const [address = ''] = published.text.split('\n')
  return { url: `http://${address}`, authorization: basic(password.text.trim()), container }
}
