// Redis and Postgres as containers, and a door into an appliance whose networks have none.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { docker } from '../../appliance/compose.ts'
import { Refusal, projectDir } from '../../embedded/paths.ts'
import { until } from '../../embedded/wait.ts'
import type { Address } from './fault-proxy.ts'
import type { ProxiesOrder } from './proxies.ts'
import { serviceOf, type Service } from './services.ts'

/** Its output; refuses when it fails. */
export async function dockered(args: readonly string[]): Promise<string> {
  const { code, text, errors } = await docker(args)
  if (code === 0) return text.trim()
  throw new Refusal(`\`docker ${args.slice(0, 2).join(' ')}\` failed (exit code ${code}): ${errors.trim()}`)
}

/** A small file of a container, a secret for instance. */
export const fileIn = (container: string, path: string): Promise<string> => dockered(['exec', container, 'cat', path])

export const isRunning = async (container: string): Promise<boolean> =>
  (await docker(['inspect', '--format', '{{.State.Running}} {{.State.Paused}}', container])).text.trim() ===
  'true false'

export const containerService = (container: string, answers: () => Promise<boolean>): Service =>
  serviceOf(
    {
      async kill() {
        await docker(['kill', container])
        if (!(await until(async () => !(await isRunning(container)), 5000, 10))) throw new Refusal('It does not die.')
      },
      pause: async () => void (await docker(['pause', container])),
      resume: async () => void (await docker(['unpause', container])),
    },
    () => dockered(['start', container]),
    answers,
  )

/** Whatever was done to it, it runs. Harmless when it does. */
export async function revive(container: string): Promise<void> {
  await docker(['unpause', container])
  await docker(['start', container])
}

/** Where the service of a compose file with the fault proxy is told what to do, in its container. */
export const controlPort = 8474

interface DoorOrder<Name extends string> {
  readonly name: string
  readonly label: string
  /** QuickLink's own: it has Node. */
  readonly image: string
  readonly networks: readonly string[]
  readonly targets: Readonly<Record<Name, Address>>
}

/**
 * A container that passes bytes on from ports of loopback to addresses inside. It is on the engine's own bridge, from which
 * ports can be published, and on the networks of the appliance.
 */
export async function openDoor<Name extends string>(order: DoorOrder<Name>): Promise<Record<Name, number>> {
  const { name, label, image, networks, targets } = order
  const names = Object.keys(targets) as Name[]
  const inner = (n: number): number => 7000 + n
  const told: ProxiesOrder = {
    control: controlPort,
    targets: Object.fromEntries(
      names.map((each, n) => [each, { ...targets[each], at: { host: '0.0.0.0', port: inner(n) } }]),
    ),
  }
  const mounted = ['loadtest/faults', 'embedded/process.ts', 'embedded/wait.ts']
  await dockered([
    ...['run', '--detach', '--name', name, '--label', label, '--user', '1000:1000', '--read-only', '--memory', '256m'],
    ...['--cap-drop', 'ALL', '--security-opt', 'no-new-privileges:true'],
    ...mounted.flatMap((path) => ['--volume', `${projectDir}/${path}:/app/${path}:ro`]),
    ...names.flatMap((_, n) => ['--publish', `127.0.0.1::${inner(n)}`]),
    ...[image, 'node', '--no-warnings', 'loadtest/faults/proxies-run.ts', JSON.stringify(told)],
  ])
  for (const network of networks) await dockered(['network', 'connect', network, name])
  const published = await dockered(['port', name])
  const portOf = (n: number): number => Number(new RegExp(`^${inner(n)}/tcp -> .*:(\\d+)$`, 'm').exec(published)?.[1])
  return Object.fromEntries(names.map((each, n) => [each, portOf(n)])) as Record<Name, number>
}

/** Containers with one of these labels, their networks and volumes: gone, and their data with them. */
export async function removeLabelled(labels: readonly string[]): Promise<void> {
  for (const kind of ['container', 'network', 'volume'] as const) {
    // A busy engine lets go of a network some time after its containers.
    await until(() => removedAll(kind, labels), 30_000, 200)
  }
}

const listing = { container: ['--all'], network: [], volume: [] }
const removal = { container: ['--force', '--volumes'], network: [], volume: ['--force'] }

async function removedAll(kind: keyof typeof listing, labels: readonly string[]): Promise<boolean> {
  const lists = await Promise.all(
    labels.map((label) => docker([kind, 'ls', '--quiet', ...listing[kind], '--filter', `label=${label}`])),
  )
  const ids = lists.flatMap(({ text }) => text.split('\n').filter((id) => id !== ''))
  return ids.length === 0 || (await docker([kind, 'rm', ...removal[kind], ...ids])).code === 0
}

/** A container's first process, as this machine's kernel sees it. */
interface First {
  readonly pid: string
  readonly id: string
}
const known = new Map<string, First>()

/** By name or id, for its CPU; undefined where the engine runs in a machine of its own. Asks Docker only when it was started since. */
export function pidOfContainer(container: string): number | undefined {
  const last = known.get(container)
  if (last !== undefined && isHere(last)) return Number(last.pid)
  const { stdout } = spawnSync('docker', ['inspect', '-f', '{{.State.Pid}} {{.Id}}', container], { encoding: 'utf8' })
  const [pid = '', id = ''] = stdout.trim().split(' ')
  if (id === '' || !isHere({ pid, id })) return undefined
  known.set(container, { pid, id })
  return Number(pid)
}

/** A number from another machine may be somebody else's here. */
function isHere({ pid, id }: First): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(id)
  } catch {
    return false
  }
}
