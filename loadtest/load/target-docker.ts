// The QuickLink of `docker compose`. Only its front is published: the rest is asked inside the containers.
import { compose, dockerProblem, idsOf, inService } from '../../appliance/compose.ts'
import { ownerKey } from '../../appliance/docker.ts'
import { opsBy } from '../measure/ops.ts'
import { containerService, pidOfContainer } from '../faults/containers.ts'
import type { Database, Target } from './target.ts'

export const inDocker = 'docker compose'

/** Undefined: none is running. */
export async function dockerTarget(): Promise<Target | undefined> {
  if ((await dockerProblem()) !== undefined || (await idsOf('--status', 'running', 'quicklink')).length === 0) return
  const [, port = '8080'] = /:(\d+)/.exec((await compose(['port', 'quicklink', '8080'])).text) ?? []
  const ops = (path: string): Promise<string> =>
    inService('quicklink', ['node', '-e', `fetch('http://127.0.0.1:9464${path}').then(async (a) => console.log(await a.text()))`])
  const ids = await Promise.all(['quicklink', 'postgres', 'redis'].map(async (name) => (await idsOf(name))[0] ?? ''))
  const [server, postgres, redis] = ids.map((id) => () => pidOfContainer(id))
  const redisAnswers = async (): Promise<boolean> => (await redisCli([['PING']]))[0] === 'PONG'
  return {
    what: inDocker,
    url: `http://127.0.0.1:${port}`,
    ownerKey: await ownerKey(),
    database: psql,
    redis: redisCli,
    redisUrl: undefined,
    redisService: containerService(ids[2] ?? '', () => redisAnswers().catch(() => false)),
    ...opsBy(ops),
    pids: { server: server!, Postgres: postgres!, Redis: redis! },
    close: () => Promise.resolve(),
  }
} // prettier-ignore

/** psql has variables instead of parameters; here all of them are numbers or words of ours, and so are the answers. */
const psql: Database = {
  async query<T>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    const filled = text.replace(/\$(\d+)/g, (_, n) => literal(values[Number(n) - 1]))
    const command = ['psql', '--username=postgres', '--dbname=quicklink', '--quiet', '--no-psqlrc', '--csv', `--command=${filled}`]
    const [head = '', ...rows] = (await inService('postgres', command)).trim().split('\n')
    const names = head.split(',')
    return rows.map((row) => Object.fromEntries(row.split(',').map((cell, n) => [names[n], Number(cell)])) as T)
  },
} // prettier-ignore

const literal = (value: unknown): string =>
  typeof value === 'number' ? String(value) : `'${String(value).replaceAll("'", "''")}'`

/** As `make doctor`: by the operator's password, which does not leave the container. */
async function redisCli(commands: readonly (readonly string[])[]): Promise<string[]> {
  const script = 'printf "%s\\n" "$1" | REDISCLI_AUTH=$(cat /run/quicklink/operator) redis-cli --user operator'
  const asked = commands.map((words) => words.join(' ')).join('\n')
  return (await inService('redis', ['sh', '-c', script, 'sh', asked])).trim().split('\n')
}
