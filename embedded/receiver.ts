// Who is told when something rings: one setting for both modes. It becomes a receiver in a copy of Alertmanager's file, which
// only its reader can read, because the address of a webhook is often a secret. Without one, the file is used as it is.
import { chmodSync, chownSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type Places, Refusal, projectDir, readText, writeJson } from './paths.ts'

export const receiverSettings = [
  'ALERT_WEBHOOK_URL',
  'ALERT_EMAIL',
  'ALERT_FROM',
  'ALERT_SMTP',
  'ALERT_SMTP_USER',
  'ALERT_SMTP_PASSWORD_FILE',
  'ALERTMANAGER_CONFIG',
] as const

/** What to do where nobody is told. */
export const howToBeTold =
  'ALERT_WEBHOOK_URL=https://… make up, or ALERT_EMAIL=you@example.org ALERT_SMTP=smtp.example.org:587 make up, names who is told'

/** Of prometheus/alertmanager.yml, and of what stands in its place. */
const nobody = 'nobody'
const told = 'told'

interface Route {
  readonly receiver?: string
  readonly routes?: readonly Route[]
}

export interface Config {
  readonly route: Route
  readonly receivers: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[]
}

/** Alertmanager's configuration by these settings; refuses those that contradict each other. */
export function alertmanagerConfig(env: NodeJS.ProcessEnv): Config {
  const base = env['ALERTMANAGER_CONFIG'] || join(projectDir, 'prometheus', 'alertmanager.yml')
  const text = readText(base)
  if (text === undefined) throw new Refusal(`ALERTMANAGER_CONFIG names ${base}, which is not there.`)
  const config = parse(text) as Config
  const configs = { ...webhook(env), ...email(env) }
  if (Object.keys(configs).length === 0) return config
  const renamed = ({ receiver, routes, ...rest }: Route): Route => ({
    ...rest,
    ...(receiver === undefined ? {} : { receiver: receiver === nobody ? told : receiver }),
    ...(routes === undefined ? {} : { routes: routes.map(renamed) }),
  })
  return { ...config, route: renamed(config.route), receivers: [...config.receivers, { name: told, ...configs }] }
}

/** By what those are told to whom a route leads: `webhook`, `email`, …; nobody: none. */
export function hearersIn({ route, receivers }: Config): string[] {
  const leadTo = ({ receiver, routes = [] }: Route): (string | undefined)[] => [receiver, ...routes.flatMap(leadTo)]
  const named = new Set(leadTo(route))
  const kinds = receivers
    .filter(({ name }) => named.has(name))
    .flatMap((each) => Object.keys(each).flatMap((key) => /^(.+)_configs$/.exec(key)?.[1] ?? []))
  return [...new Set(kinds)]
}

const hasReceiver = (env: NodeJS.ProcessEnv): boolean =>
  Boolean(env['ALERT_WEBHOOK_URL']) || Boolean(env['ALERT_EMAIL'])

function webhook({ ALERT_WEBHOOK_URL: url }: NodeJS.ProcessEnv): Record<string, unknown> {
  if (!url) return {}
  // Not repeated: it may be a secret.
  if (!/^https?:\/\/\S+$/.test(url)) throw new Refusal('ALERT_WEBHOOK_URL must begin with http:// or https://.')
  return { webhook_configs: [{ url, send_resolved: true }] }
}

function email(env: NodeJS.ProcessEnv): Record<string, unknown> {
  const { ALERT_EMAIL: to, ALERT_SMTP: smarthost, ALERT_SMTP_USER: user, ALERT_SMTP_PASSWORD_FILE: file } = env
  if (!to) {
    if (smarthost) throw new Refusal('ALERT_SMTP is set, but no ALERT_EMAIL: to whom is mail to be sent?')
    return {}
  }
  if (!smarthost) throw new Refusal('ALERT_EMAIL needs ALERT_SMTP=host:port, the mail server that takes it.')
  const [, host] = /^([\w.-]+|\[[\da-f:]+\]):\d+$/i.exec(smarthost) ?? []
  if (host === undefined) throw new Refusal(`ALERT_SMTP is ${smarthost}, but must be host:port.`)
  if (Boolean(user) !== Boolean(file)) {
    throw new Refusal('ALERT_SMTP_USER and ALERT_SMTP_PASSWORD_FILE go together: one of them is not set.')
  }
  const from = env['ALERT_FROM'] || to.split(',')[0]!.trim()
  const account = user && file ? { auth_username: user, auth_password: passwordIn(file) } : {}
  // A relay on the machine itself has no certificate.
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(host) ? { require_tls: false } : {}
  return { email_configs: [{ to, from, smarthost, send_resolved: true, ...account, ...local }] }
}

function passwordIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Refusal(`ALERT_SMTP_PASSWORD_FILE names ${file}, which cannot be read (${code}).`)
  }
}

/** Alertmanager's user in its container. */
const containerUser = 65534

/** For the container, which reads it as another user: its path, and whether it is another one than before; undefined: none is set. */
export function writeForContainer(places: Places, env: NodeJS.ProcessEnv): { file: string; changed: boolean } | undefined {
  const file = places.alertmanagerFile
  if (!hasReceiver(env)) {
    rmSync(file, { force: true })
    return undefined
  }
  const before = readText(file)
  writeJson(file, alertmanagerConfig(env))
  // As root the folder can be walked through. Others cannot, so there everybody may read it: nobody else comes by.
  if (process.getuid?.() === 0) chownSync(file, containerUser, containerUser)
  else chmodSync(file, 0o644)
  return { file, changed: before !== readText(file) }
} // prettier-ignore
