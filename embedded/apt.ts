// A server from the distribution, on Debian and its relatives, for root only, and without starting the distribution's own
// service, now or at boot: QuickLink starts a Redis of its own, and its tests a PostgreSQL 15 and a PgBouncer of theirs.
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type Say, shown } from './paths.ts'
import { onPath } from './redis-process.ts'

// Debian asks this script before it starts or stops a service; 101 is "no".
const policyFile = '/usr/sbin/policy-rc.d'
const keptPolicyFile = `${policyFile}.before-quicklink`
const policy = '#!/bin/sh\n# Made by QuickLink while it installs redis-server; removed right after.\nexit 101\n'

export const canInstall = (): boolean =>
  process.getuid?.() === 0 && existsSync('/etc/debian_version') && onPath('apt-get') !== undefined

/** True when apt says that it is installed. */
export async function install(
  name: 'redis-server' | 'postgresql-15' | 'pgbouncer',
  logFile: string,
  say: Say,
): Promise<boolean> {
  say(`Installing ${name} with apt (the distribution’s own service is not started)`)
  const service = name.replace(/-\d+$/, '')
  const hadService = existsSync(`/etc/systemd/system/multi-user.target.wants/${service}.service`)
  const restore = (): void => removePolicy()
  const interrupted = (): void => {
    restore()
    process.exit(130)
  }
  placePolicy()
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    await apt(['update'], logFile)
    const installed = await apt(['install', '-y', '--no-install-recommends', name], logFile)
    if (installed && !hadService) spawnSync('systemctl', ['disable', service])
    if (!installed) say(`apt could not install ${name}: see ${shown(logFile)}`)
    return installed
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
    restore()
  }
}

function placePolicy(): void {
  removePolicy()
  if (existsSync(policyFile)) renameSync(policyFile, keptPolicyFile)
  writeFileSync(policyFile, policy, { mode: 0o755 })
}

/** Ours goes, the machine's own comes back; also after an installation that was killed on the way. */
export function removePolicy(): void {
  if (existsSync(policyFile) && readFileSync(policyFile, 'utf8') === policy) rmSync(policyFile)
  if (existsSync(keptPolicyFile) && !existsSync(policyFile)) renameSync(keptPolicyFile, policyFile)
}

function apt(args: string[], logFile: string): Promise<boolean> {
  const log = openSync(logFile, 'a', 0o600)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' }
  const child = spawn('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], { env, stdio: ['ignore', log, log] })
  closeSync(log)
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}
