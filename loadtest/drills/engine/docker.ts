// A drill's own QuickLink with Docker: the compose file as a project of its own, the fault proxy between QuickLink and its
// dependencies, Prometheus in a drill's time. It is removed with all its volumes.
import { randomBytes } from 'node:crypto'
import { compose, composed } from '../../../appliance/compose.ts'
import { buildArgs } from '../../../appliance/docker.ts'
import { freePort } from '../../../embedded/process.ts'
import { controlPort, dockered, openDoor } from '../../faults/containers.ts'
import { setter } from '../../faults/proxies.ts'
import { silent, workers, type Appliance, type Settings } from './appliance.ts'
import { at, projectAppliance, refuseWithoutDocker } from './project.ts'
import type { Cleanup } from './cleanup.ts'
import { factor, writeRules } from './rules.ts'

/** Waited for. What else they need comes with them. */
const services = ['quicklink', 'fault-proxy', 'prometheus', 'redis-exporter', 'postgres-exporter']

/** A small machine carries it, and it is filled soon. */
const memory = { REDIS_MAXMEMORY: '64mb', REDIS_MEMORY: '256m' }

export async function startInDocker(cleanup: Cleanup, settings: Settings): Promise<Appliance> {
  await refuseWithoutDocker('MODE=docker')
  const project = `quicklink-drill-${randomBytes(4).toString('hex')}`
  const url = await composeUp(project, cleanup, settings)
  const ports = await openDoorInto(project, cleanup)
  const appliance = await projectAppliance(cleanup, {
    project,
    mode: `Docker: the containers of docker-compose.yml, two workers, the fault proxy before Redis and Postgres; the windows and waits of the alert rules, scrapes, and how long a breaker stays open, divided by ${factor}`,
    url,
    ports,
    proxies: { ports: { redis: ports.redisWay, postgres: ports.postgresWay }, set: setter(ports.control) },
    prometheusUrl: `http://127.0.0.1:${ports.prometheus}`,
    workers,
  })
  for (const line of settings.redis ?? []) await appliance.redis(`CONFIG SET ${line}`)
  return appliance
}

/** Where QuickLink is. */
async function composeUp(project: string, cleanup: Cleanup, { env }: Settings): Promise<string> {
  const port = await freePort()
  writeRules(cleanup.dir)
  cleanup.add({ label: `com.docker.compose.project=${project}` })
  const run = {
    env: {
      ...(await buildArgs()),
      ...memory,
      ...env,
      PORT: String(port),
      GRAFANA_PORT: String(await freePort()),
      DRILL_DIR: cleanup.dir,
      WORKERS: String(workers),
      COMPOSE_ANSI: 'never',
      COMPOSE_PROGRESS: 'quiet',
    },
    // If this process is killed, nothing may be started any more.
    begun: (pid: number) => cleanup.add({ pid, word: project }),
  }
  const files = ['docker-compose.yml', 'docker-compose.drill.yml'].flatMap((file) => ['--file', file])
  const here = ['--project-name', project, ...files, '--profile', 'drill']
  await composed([...here, 'build', '--quiet', 'quicklink'], run)
  await composed([...here, 'up', '--detach', '--wait', '--quiet-pull', ...services], run)
  // Nobody waits for it: without it there are no marks, that is all.
  await compose([...here, 'up', '--detach', '--no-deps', 'grafana'], run).catch(silent)
  return `http://127.0.0.1:${port}`
}

/** Ports of loopback that lead to what is inside: past the fault proxy, and on QuickLink's way through it. */
async function openDoorInto(project: string, cleanup: Cleanup) {
  const address = `{{(index .NetworkSettings.Networks "${project}_way").IPAddress}}`
  const ports = await openDoor({
    name: `${project}-door`,
    label: `com.docker.compose.project=${project}`,
    image: await dockered(['inspect', '--format', '{{.Image}}', `${project}-quicklink-1`]),
    networks: ['data', 'way', 'ops'].map((network) => `${project}_${network}`),
    targets: {
      redis: at(project, 'redis', 6379),
      postgres: at(project, 'postgres', 5432),
      redisWay: at(project, 'fault-proxy', 6379),
      postgresWay: at(project, 'fault-proxy', 5432),
      control: at(project, 'fault-proxy', controlPort),
      // Its name would be looked up on the other networks, too.
      ops: { host: await dockered(['inspect', '--format', address, `${project}-quicklink-1`]), port: 9464 },
      prometheus: at(project, 'prometheus', 9090),
    },
  })
  cleanup.add({ control: ports.control })
  return ports
}
