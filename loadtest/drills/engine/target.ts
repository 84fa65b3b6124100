// A running appliance of Docker, for a staging: TARGET=compose:NAME. Nothing of it is changed but by the fault, by the links
// of the drill, which are removed again, and by a door container while the drill lasts.
import { docker } from '../../../appliance/compose.ts'
import { Refusal } from '../../../embedded/paths.ts'
import { dockered, openDoor } from '../../faults/containers.ts'
import type { Appliance } from './appliance.ts'
import type { Drill } from './drill.ts'
import { at, projectAppliance, refuseWithoutDocker } from './project.ts'
import type { Cleanup } from './cleanup.ts'

/** The project; undefined: none is given. Refuses without the word of its owner. */
export function targetOf({ TARGET, I_MAY_BREAK_THIS }: NodeJS.ProcessEnv): string | undefined {
  if (!TARGET) return undefined
  const [, project] = /^compose:([a-z0-9][a-z0-9_-]*)$/.exec(TARGET) ?? []
  if (project === undefined) {
    throw new Refusal(`TARGET is ${TARGET}, but must be compose:NAME, a compose project on this machine (\`docker compose ls\`).`) // prettier-ignore
  }
  if (I_MAY_BREAK_THIS !== 'yes') {
    throw new Refusal(`The drill breaks ${project} for whoever uses it: I_MAY_BREAK_THIS=yes says that you may.`)
  }
  return project
}

/** Why a drill cannot be run on a QuickLink that is not its own; undefined: it can. */
export function obstacleOnTarget({ name, settings, needsProxies }: Drill): string | undefined {
  if (needsProxies === true) return `${name} cannot run on a TARGET, because no fault proxy is between its QuickLink and its databases.` // prettier-ignore
  if (settings) return `${name} cannot run on a TARGET, because it needs settings of its own.`
  return undefined
} // prettier-ignore

interface Inspected {
  readonly Image: string
  readonly Config: { readonly Env: readonly string[] }
  readonly NetworkSettings: { readonly Ports: Readonly<Record<string, readonly { readonly HostPort: string }[] | null>> }
} // prettier-ignore

export async function openTarget(cleanup: Cleanup, project: string, drill: Drill): Promise<Appliance> {
  await refuseWithoutDocker('TARGET')
  const { code, text } = await docker(['inspect', `${project}-quicklink-1`])
  if (code !== 0) throw new Refusal(`There is no QuickLink in the compose project ${project}: \`docker compose ls\` lists what runs here.`) // prettier-ignore
  const [{ Image, Config, NetworkSettings }] = JSON.parse(text) as [Inspected]
  const setting = (name: string): string | undefined => Config.Env.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) // prettier-ignore
  const port = NetworkSettings.Ports['8080/tcp']?.[0]?.HostPort
  if (port === undefined) throw new Refusal(`${project} publishes no port of QuickLink itself: a drill needs it without a proxy before it.`) // prettier-ignore
  const name = `${project}-door-${process.pid}`
  const label = `quicklink.drill=${name}`
  cleanup.add({ label })
  const ports = await openDoor({
    name,
    label,
    image: Image,
    networks: ['data', 'ops'].map((network) => `${project}_${network}`),
    targets: { redis: at(project, 'redis', 6379), postgres: at(project, 'postgres', 5432), ops: at(project, 'quicklink', 9464) },
  }) // prettier-ignore
  cleanup.add({ containers: [`${project}-redis-1`, `${project}-postgres-1`] })
  cleanup.add({ linksIn: `${project}-postgres-1`, prefixes: drill.load.groups.map(({ prefix }) => prefix) })
  const set = () => Promise.reject(new Error('there is no fault proxy'))
  return projectAppliance(cleanup, {
    project,
    mode: `the running compose project ${project}, with its own settings`,
    url: `http://127.0.0.1:${port}`,
    ports,
    proxies: { ports, set },
    workers: Number(await dockered(['exec', `${project}-quicklink-1`, 'node', '-e', countWorkers])),
    breakerOpenMs: Number(setting('BREAKER_OPEN_MS') ?? 30_000),
  })
}

const countWorkers =
  'fetch("http://127.0.0.1:9464/statusz").then(async (answer) => console.log((await answer.json()).workers.length))'
