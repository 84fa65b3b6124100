// `make up`, `make down` and the rest, in the mode that this folder was started in.
import { backup as embeddedBackup, restore as embeddedRestore } from '../embedded/backup.ts'
import { stopKeeper } from '../embedded/keeper.ts'
import { Refusal, readText } from '../embedded/paths.ts'
import { down as embeddedDown, logs as embeddedLogs, status as embeddedStatus } from '../embedded/running.ts'
import { runningServer, stopServer } from '../embedded/server.ts'
import { removeService, service } from '../embedded/service.ts'
import { signInHere } from '../embedded/sign-in.ts'
import { refuseBadSettings, up as embeddedUp } from '../embedded/up.ts'
import { backup, newOwnerKey, restore } from './backup.ts'
import { dockerProblem, idsOf } from './compose.ts'
import { dockerAlertmanager, dockerPatient } from './doctor-docker.ts'
import { embeddedAlertmanager, embeddedPatient } from './doctor-embedded.ts'
import { examine } from './doctor.ts'
import { down, grafanaPassword, logs, ownerKey, signIn, status, up, upgrade } from './docker.ts'
import { type Mode, chooseMode, currentMode } from './mode.ts'
import { type Told, asEnv, placesTold, remember, sayUnknown, sayWhatComposeLacks, show, told } from './settings.ts'
import { testAlert } from './test-alert.ts'

const places = placesTold(process.env)
const given = toldOrEnd()
const env = Object.assign(process.env, asEnv(given))
const circumstances = { forced: env['MODE'], remembered: readText(places.modeFile) }
const say = (line: string): void => console.log(line)
// Whoever reads along may leave (`make down | head`): what was begun is done all the same.
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)

/** Both at once would fight for the port. */
async function refuseOtherRunning(mode: Mode): Promise<void> {
  const other = mode === 'docker' ? 'embedded' : 'docker'
  const running =
    mode === 'docker'
      ? runningServer(places) !== undefined
      : (await idsOf('--status', 'running', 'quicklink')).length > 0
  if (running) throw new Refusal(`QuickLink is running in ${other} mode: \`MODE=${other} make down\` first.`)
}

async function start(): Promise<void> {
  const { mode, note } = await chooseMode({ ...circumstances, dockerProblem })
  if (note) {
    await refuseOtherRunning(mode)
    say(note)
  }
  sayUnknown(given, say)
  await (mode === 'docker' ? up(places, env, say) : embeddedUp(env, say))
  remember(places, given)
  if (mode === 'docker') sayWhatComposeLacks(given, say)
}

const withDockerOnly = (what: string) => (): Promise<never> =>
  Promise.reject(new Refusal(`\`make ${what}\` is for Docker mode, and this folder was started without Docker.`))

/** git pull is the person's, and packages are there by now. The data, Postgres and Redis stay as they are; migrations come with the start. */
async function embeddedUpgrade(): Promise<void> {
  // While the old one still runs.
  refuseBadSettings(env, () => undefined)
  say('QuickLink is started anew: redirects are away for some seconds')
  await stopKeeper(places)
  await stopServer(places)
  await start()
}

const dockerRestarts = (): Promise<never> =>
  Promise.reject(new Refusal('In Docker mode no unit is needed: the containers come back with the engine.'))

async function printFile(path: string): Promise<void> {
  const text = readText(path)
  if (text === undefined) throw new Refusal('There is no owner key yet: `make up` makes one.')
  say(text.trim())
  return Promise.resolve()
}

const settings = (): Promise<void> => Promise.resolve(show(given, say))

const commands: Record<string, Record<Mode, () => Promise<void>>> = {
  up: { docker: start, embedded: start },
  down: { docker: () => down(say), embedded: () => embeddedDown(places, say) },
  logs: { docker: logs, embedded: () => embeddedLogs(places) },
  status: { docker: () => status(say), embedded: () => embeddedStatus(places, say) },
  settings: { docker: () => settings(), embedded: () => settings() },
  doctor: {
    docker: async () => examine(await dockerPatient(), say),
    embedded: () => examine(embeddedPatient(places), say),
  },
  'test-alert': {
    docker: async () => testAlert(await dockerAlertmanager(), say),
    embedded: () => testAlert(embeddedAlertmanager(places), say),
  },
  backup: { docker: () => backup(places, say), embedded: () => embeddedBackup(places, say) },
  restore: { docker: () => restore(places, env, say), embedded: () => embeddedRestore(places, env, say) },
  service: { docker: dockerRestarts, embedded: () => Promise.resolve(service(places, env, say)) },
  'service-remove': { docker: dockerRestarts, embedded: () => Promise.resolve(removeService(say)) },
  upgrade: { docker: () => upgrade(places, env, say), embedded: embeddedUpgrade },
  'owner-key': { docker: async () => say(await ownerKey()), embedded: () => printFile(places.ownerKeyFile) },
  'sign-in': { docker: () => signIn(say), embedded: () => signInHere(places, env, say) },
  'new-owner-key': { docker: () => newOwnerKey(say), embedded: withDockerOnly('new-owner-key') },
  'grafana-password': {
    docker: async () => say(await grafanaPassword()),
    embedded: withDockerOnly('grafana-password'),
  },
}

function toldOrEnd(): Told {
  try {
    return told(process.env, places)
  } catch (error) {
    return end(error)
  }
}

function end(error: unknown): never {
  console.error(error instanceof Refusal ? error.message : error)
  process.exit(1)
}

try {
  const command = commands[process.argv[2] ?? '']
  if (!command) throw new Refusal(`Usage: node appliance/cli.ts ${Object.keys(commands).join('|')}`)
  await command[currentMode(circumstances)]()
  // Processes that outlive this one still have handles here.
  process.exit(process.exitCode ?? 0)
} catch (error) {
  end(error)
}
