// A running compose project, drilled as it is: with a door container while the drill lasts.
import { docker } from '../../../appliance/compose.ts'
import { Refusal } from '../../../embedded/paths.ts'
import { dockered, openDoor } from '../../faults/containers.ts'
import type { Appliance } from './appliance.ts'
import type { Drill } from './drill.ts'
import { at, projectAppliance, refuseWithoutDocker } from './project.ts'
import type { Cleanup } from './cleanup.ts'

interface Inspected {
  readonly Image: string
  readonly Config: { readonly Env: readonly string[] }
  readonly NetworkSettings: { readonly Ports: Readonly<Record<string, readonly { readonly HostPort: string }[] | null>> }
} // prettier-ignore

export async function openComposeTarget(cleanup: Cleanup, project: string, drill: Drill): Promise<Appliance> {
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
