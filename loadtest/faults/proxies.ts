// The fault proxies between QuickLink and what it depends on, in a process of their own (proxies-run.ts).
import { join } from 'node:path'
import { ask } from '../../embedded/ask.ts'
import { start } from '../../embedded/daemon.ts'
import { waitFor } from '../../embedded/wait.ts'
import type { Address } from './fault-proxy.ts'

export type ProxyMode = 'pass' | 'refuse' | 'black-hole' | 'delay' | 'strand' | 'cut' | 'drop-replies'

export interface ProxyReport {
  readonly host: string
  readonly port: number
  readonly connections: number
  readonly toTarget: number
  readonly toClient: number
}

/** A socket in a folder that nobody else may write to, or a port: of a container that is not published, of loopback. */
export type Control = string | number

export interface ProxiesOrder {
  readonly control: Control
  /** Listened for `at` an address, if it matters which. */
  readonly targets: Readonly<Record<string, Address & { readonly at?: Address }>>
}

type Reports<Name extends string> = Readonly<Record<Name, ProxyReport>>

export interface Proxies<Name extends string> {
  readonly ports: Readonly<Record<Name, number>>
  set(name: Name, mode: ProxyMode, ms?: number): Promise<void>
}

/** Of the process's command line, with the socket of its control. */
export const proxiesFile = join(import.meta.dirname, 'proxies-run.ts')

export async function startProxies<Name extends string>(
  dir: string,
  targets: Readonly<Record<Name, Address>>,
): Promise<Proxies<Name> & { readonly pid: number }> {
  const control = join(dir, 'proxies.sock')
  const told: ProxiesOrder = { control, targets }
  const child = await start({
    file: process.execPath,
    args: ['--no-warnings', proxiesFile, JSON.stringify(told)],
    cwd: dir,
    env: { PATH: process.env['PATH'] },
    logFile: join(dir, 'proxies.log'),
    detached: true,
  })
  const report = async (): Promise<Reports<Name>> => JSON.parse(await order(control, 'GET', '/')) as Reports<Name>
  const ready = await waitFor(report, { deadlineMs: 10_000, everyMs: 20 })
  const ports = Object.fromEntries(Object.entries<ProxyReport>(ready).map(([name, { port }]) => [name, port]))
  return { pid: child.pid, ports: ports as Record<Name, number>, set: setter(control) }
}

/** For whoever did not start them. */
export const setter =
  (control: Control): Proxies<string>['set'] =>
  async (name, mode, ms = 0) => {
    await order(control, 'POST', `/${name}/${mode}?ms=${ms}`)
  }

/** For whoever heals without having started them. Harmless when they pass already. */
export async function healProxies(control: Control): Promise<void> {
  const names = Object.keys(JSON.parse(await order(control, 'GET', '/')) as object)
  for (const name of names) await order(control, 'POST', `/${name}/pass`)
}

async function order(control: Control, method: string, path: string): Promise<string> {
  const to = typeof control === 'string' ? control : `http://127.0.0.1:${control}`
  const { status, text } = await ask(to, path, { method, timeoutMs: 2000 })
  if (status !== 200) throw new Error(text)
  return text
}
