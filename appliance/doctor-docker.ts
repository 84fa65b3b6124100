import { compose, composed, docker, idsOf, inService, linesOf } from './compose.ts'
import { askOps } from './docker.ts'
import { type Patient, type Points, finding, nothingFound } from './patient.ts'
import type { Alertmanager } from './test-alert.ts'

const asOperator = 'REDISCLI_AUTH=$(cat /run/quicklink/operator) exec redis-cli -c --user operator "$@"'

/** Only names of settings that say something here: the others are secrets or none of the doctor's business. */
const readSettings = `
  const { loadConfig } = await import('/app/server/config.ts')
  const names = ['redisTimeoutMs', 'dbTimeoutMs', 'breakerFailures', 'breakerWindowMs', 'breakerOpenMs', 'ttlJitter',
    'notFoundTtlS', 'localCacheMax', 'localCacheTtlMs', 'redisCluster', 'redisPartitions', 'redisUsername']
  const config = loadConfig(process.env)
  const trustProxy = process.env.TRUST_PROXY || 'off'
  console.log(JSON.stringify({ ...Object.fromEntries(names.map((name) => [name, config[name]])), trustProxy }))`

interface Container {
  readonly Service: string
  readonly Health: string
  readonly State: string
  readonly ExitCode: number
  readonly Publishers: readonly { readonly URL: string; readonly PublishedPort: number }[] | null
}

const containers = async (): Promise<Container[]> =>
  linesOf(await composed(['ps', '-a', '--format', 'json'])).map((line) => JSON.parse(line) as Container)

const published = async () =>
  (await containers())
    .flatMap(({ Service, Publishers }) => (Publishers ?? []).map((each) => ({ Service, ...each })))
    .filter(({ PublishedPort }) => PublishedPort > 0)

interface Inspected {
  readonly Name: string
  readonly Config: { readonly Env: readonly string[]; readonly User: string }
}

const inspected = async (): Promise<Inspected[]> =>
  JSON.parse((await docker(['inspect', ...(await idsOf())])).text) as Inspected[]

const more: Points = {
  async 'Every service is healthy'() {
    const sick = (await containers()).filter(({ Service, Health, State, ExitCode }) =>
      ['init', 'roles', 'redis-cluster'].includes(Service)
        ? State === 'exited' && ExitCode !== 0
        : State !== 'running' || (Health !== '' && Health !== 'healthy'),
    )
    return nothingFound(
      sick.map(({ Service, State, Health }) => `${Service} is ${Health || State}`),
      'all',
    )
  },
  async 'Nothing runs as root'() {
    const roots = (await inspected()).filter(({ Config }) => /^(0|root)?(:|$)/.test(Config.User))
    return nothingFound(
      roots.map(({ Name }) => Name),
      'each service is a user of its own',
    )
  },
  async 'A dump of the last 26 hours'() {
    const { code } = await compose(['exec', '-T', 'backup', 'sh', '/backup.sh', 'fresh'])
    return finding(code === 0, code === 0 ? 'is there' : 'is missing: see `docker compose logs backup`')
  },
}

export async function dockerAlertmanager(): Promise<Alertmanager | undefined> {
  if ((await idsOf('--status', 'running', 'alertmanager')).length === 0) return undefined
  const asked = (path: string, ...more: string[]): Promise<string> =>
    inService('alertmanager', ['wget', '-q', '-O', '-', ...more, `http://127.0.0.1:9093${path}`])
  return {
    get: (path) => asked(path),
    post: (path, body) => asked(path, '--header', 'Content-Type: application/json', '--post-data', body),
    log: '`docker compose logs alertmanager`',
  }
}

export const dockerPatient = async (): Promise<Patient> => ({
  ops: askOps,
  visit: async (codes) => {
    const script = `await Promise.all(process.argv.slice(1).map((code) => fetch('http://127.0.0.1:8080/' + code)))`
    await inService('quicklink', ['node', '--input-type=module', '-e', script, ...codes])
  },
  redis: (command, node = 'redis') => inService(node, ['sh', '-c', asOperator, 'redis', ...command]),
  nodes: async () => {
    const { services } = JSON.parse(await composed(['config', '--format', 'json'])) as { services: object }
    const names = Object.keys(services).filter((name) => /^redis(-\d+)?$/.test(name))
    return names.length > 1 ? names : []
  },
  postgres: async (statement) => (await inService('postgres', ['psql', '-U', 'postgres', '-AtXc', statement])).trim(),
  settings: async () =>
    JSON.parse(await inService('quicklink', ['node', '--input-type=module', '-e', readSettings])) as Record<
      string,
      unknown
    >,
  prometheus: (path) => inService('prometheus', ['wget', '-q', '-O', '-', `http://127.0.0.1:9090${path}`]),
  alertmanager: await dockerAlertmanager(),
  exposed: async () =>
    (await published())
      .filter(({ Service }) => !['quicklink', 'proxy', 'grafana'].includes(Service))
      .map(({ Service, PublishedPort }) => `${Service} at port ${PublishedPort}`),
  open: async () =>
    (await published())
      .filter(({ Service, URL }) => Service === 'quicklink' && !/^(127\.|::1$)/.test(URL))
      .map(({ URL, PublishedPort }) => `published port ${PublishedPort} of ${URL}`),
  leaks: async () => {
    // init is the one that can see all of them.
    const everybodys = ['find', 'init', '/secrets', '-type', 'f', '-perm', '/077']
    const loose = await composed(['run', '--rm', '--no-deps', '-T', '--entrypoint', ...everybodys])
    const inEnvironment = (await inspected()).flatMap(({ Name, Config }) =>
      Config.Env.filter(
        (line) =>
          /(PASSWORD|SECRET|OWNER_KEY|CODE_SALT|_URL)=.*\S/.test(line) &&
          !/^(\w+_FILE|(PUBLIC|ROOT|GRAFANA|RUNBOOK)_URL)=/.test(line),
      ).map((line) => `${line.split('=')[0] ?? ''} in the environment of ${Name.slice(1)}`),
    )
    const key = await inService('quicklink', ['stat', '-c', '%a', '/data/owner-key'])
    return [
      ...linesOf(loose),
      ...inEnvironment,
      ...(key.trim() === '600' ? [] : [`/data/owner-key has mode ${key.trim()}`]),
    ]
  },
  more,
})
