// `make up` and its companions where Docker runs everything.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Places, Refusal, type Say, makeDataDir, projectDir, writePrivate } from '../embedded/paths.ts'
import { portProblem } from '../embedded/process.ts'
import { writeForContainer } from '../embedded/receiver.ts'
import { type AskForLink, sayConsole, saySignIn } from '../embedded/sign-in.ts'
import { compose, composed, docker, idsOf, inService } from './compose.ts'

/** The compose file decides these; a value from outside would contradict it. */
const ours = [
  'DATABASE_URL',
  'REDIS_URL',
  'REDIS_SENTINELS',
  'REDIS_CLUSTER',
  'OWNER_KEY',
  'CODE_SALT',
  'OIDC_CLIENT_SECRET',
  'DATA_DIR',
  'OPS_PORT',
  'HOST',
]

export async function up(places: Places, env: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const given = ours.filter((name) => env[name])
  if (given.length > 0)
    say(`With Docker ${given.join(', ')} ${given.length > 1 ? 'have' : 'has'} no effect: see docker-compose.yml.`)
  makeDataDir(places)
  const receiver = tellReceiver(places, env)
  if ((await idsOf('--status', 'running')).length === 0) await refuseTakenPorts()
  say('Starting with Docker (the first time, images are pulled and built: this takes some minutes)')
  const started = await compose(['up', '-d', '--build', '--wait', '--quiet-pull'], {
    shown: true,
    env: await buildArgs(),
  })
  const exists = started.code === 0 || (await idsOf('-a', 'postgres')).length > 0
  // Once there are volumes, this is where the links are.
  if (exists) writePrivate(places.modeFile, 'docker\n')
  if (started.code !== 0) {
    throw new Refusal(
      exists
        ? 'Not everything became healthy: see `docker compose ps` and `docker compose logs`.'
        : 'Docker could not start it, see above. `MODE=embedded make up` starts without Docker.',
    )
  }
  await receiver.apply()
  await closingLines(say)
}

/** Compose is told of the file; a container that ran before has read the one of before. */
function tellReceiver(places: Places, env: NodeJS.ProcessEnv): { apply: () => Promise<void> } {
  const written = writeForContainer(places, env)
  if (written) process.env['ALERTMANAGER_CONFIG'] = written.file
  return {
    async apply() {
      if (written?.changed) await composed(['restart', 'alertmanager'])
    },
  }
}

export async function buildArgs(): Promise<NodeJS.ProcessEnv> {
  const { version } = JSON.parse(readFileSync(join(projectDir, 'package.json'), 'utf8')) as { version: string }
  const commit = await promisify(execFile)('git', ['rev-parse', 'HEAD'], { cwd: projectDir }).catch(() => undefined)
  const hash = process.env['COMMIT'] || commit?.stdout.trim()
  return { VERSION: version, ...(hash ? { COMMIT: hash } : {}) }
}

interface Settled {
  readonly services: Readonly<
    Record<string, { environment?: Record<string, string>; ports?: { host_ip?: string; published?: string }[] }>
  >
}

/** As compose understands it, the file .env and overrides included. */
async function settled() {
  const { services } = JSON.parse(await composed(['config', '--format', 'json'])) as Settled
  const reached = Object.entries(services).flatMap(([service, { ports }]) =>
    (ports ?? []).map(({ host_ip, published }) => ({ service, host: host_ip ?? '0.0.0.0', port: Number(published) })),
  )
  return { url: services['quicklink']?.environment?.['PUBLIC_URL'] ?? '', reached }
}

async function refuseTakenPorts(): Promise<void> {
  for (const { service, host, port } of (await settled()).reached) {
    if ((await portProblem(port, host)) !== 'EADDRINUSE') continue
    const variable = service === 'grafana' ? 'GRAFANA_PORT' : 'PORT'
    const other = `set ${variable} to a free one, e.g. ${variable}=${port + 1} make up.`
    throw new Refusal(`Port ${port} is taken by another program: ${other}`)
  }
}

async function closingLines(say: Say): Promise<void> {
  const { url, reached } = await settled()
  const at = (...services: string[]): string =>
    `http://localhost:${reached.find(({ service }) => services.includes(service))?.port ?? ''}`
  say('')
  say(`QuickLink is running at ${url}`)
  await sayConsole(askInside, url, process.env, say)
  say('The owner key is in a Docker volume: `make owner-key` prints it')
  say(`Grafana is at ${at('grafana')} (user admin; \`make grafana-password\` prints the password)`)
  say('Make a first link:')
  say('')
  say(
    `  curl -s ${at('quicklink', 'proxy')}/api/v1/links -H "Authorization: Bearer $(make -s owner-key)" ` +
      `-H 'Content-Type: application/json' -d '{"url":"https://example.com/"}'`,
  )
  say('')
}

export async function down(say: Say): Promise<void> {
  await composed(['down'], { shown: true })
  say('The data stays, in Docker volumes. `make up` starts it again.')
}

export async function logs(): Promise<void> {
  // Ctrl-C reaches compose too; ending with it, quietly, is all there is to do.
  process.on('SIGINT', () => undefined)
  await compose(['logs', '--follow', '--tail', '200', 'quicklink'], { shown: true })
}

export async function status(say: Say): Promise<void> {
  say((await composed(['ps', '-a', '--format', 'table {{.Service}}\t{{.Status}}\t{{.Image}}\t{{.Ports}}'])).trimEnd())
  if ((await idsOf('--status', 'running', 'quicklink')).length === 0) return
  say(`\nreadyz     ${(await askOps('/readyz')).trim()}`)
  say(`statusz    ${JSON.stringify(JSON.parse(await askOps('/statusz')), null, 2)}`)
}

/** The text of an answer of the ops port, which only the containers reach. */
export const askOps = (path: string): Promise<string> =>
  inService('quicklink', [
    'node',
    '-e',
    `fetch('http://127.0.0.1:9464${path}').then((r) => r.text()).then((t) => process.stdout.write(t))`,
  ])

/** Where the key is, so that it comes out of no container. */
const askInside: AskForLink = () =>
  inService('quicklink', [
    'node',
    '-e',
    `const key = require('node:fs').readFileSync('/data/owner-key', 'utf8').trim()
    const asked = { method: 'POST', headers: { Authorization: 'Bearer ' + key } }
    fetch('http://127.0.0.1:8080/api/v1/sign-in-links', asked).then((r) => r.text()).then((t) => process.stdout.write(t))`,
  ])

export const signIn = (say: Say): Promise<void> => saySignIn(askInside, say)

const secretOf = async (service: string, file: string, what: string): Promise<string> => {
  const { code, text } = await compose(['exec', '-T', service, 'cat', file])
  if (code === 0) return text.trim()
  throw new Refusal(`The ${what} cannot be read while ${service} is not running: \`make up\` first.`)
}

export const ownerKey = (): Promise<string> => secretOf('quicklink', '/data/owner-key', 'owner key')
export const grafanaPassword = (): Promise<string> => secretOf('grafana', '/run/quicklink/admin', 'password')

/** New replicas could not reach the databases that run. */
async function refuseOtherNetworks(): Promise<void> {
  const { networks } = JSON.parse(await composed(['config', '--format', 'json'])) as {
    networks: Record<string, { name: string }>
  }
  const there = (await docker(['network', 'ls', '--format', '{{.Name}}'])).text.split('\n')
  if (Object.values(networks).every(({ name }) => there.includes(name))) return
  throw new Refusal(
    'This version connects the containers by other networks: `make down`, then `make up`. Redirects are away meanwhile, this once.',
  )
}

/**
 * One replica: pulled, built, replaced; a few seconds without redirects. Behind the proxy of docker-compose.replicas.yml:
 * new replicas come beside the old ones, and these go when the new ones are ready. Migrations run under a lock in the
 * first new one, and leave the old version able to go on.
 */
export async function upgrade(places: Places, given: NodeJS.ProcessEnv, say: Say): Promise<void> {
  const env = await buildArgs()
  tellReceiver(places, given)
  await compose(['pull', '--ignore-buildable', '--quiet'], { shown: true })
  const services = (await composed(['config', '--services'])).split('\n')
  const old = await idsOf('quicklink')
  if (!services.includes('proxy') || old.length === 0) {
    await composed(['up', '-d', '--build', '--wait'], { shown: true, env })
    return
  }
  await refuseOtherNetworks()
  say('Building')
  await composed(['build', 'quicklink'], { env })
  say(`Starting ${old.length} new replicas beside the old ones`)
  // Not with --no-deps: older compose takes what was started so for another configuration, and would replace all at once.
  const scaled = (count: number): string[] => [
    'up',
    '-d',
    '--no-recreate',
    '--wait',
    '--scale',
    `quicklink=${count}`,
    'quicklink',
  ]
  await composed(scaled(2 * old.length), { env })
  // The proxy looks names up every second, and checks twice a second.
  await sleep(4000)
  for (const id of old) {
    say(`Stopping ${id.slice(0, 12)}`)
    await docker(['stop', '--time', '12', id])
    await docker(['rm', id])
  }
  await composed(scaled(old.length), { env })
  // Everything else that has a newer image or another configuration.
  await composed(['up', '-d', '--wait', '--scale', `quicklink=${old.length}`], { shown: true, env })
}
