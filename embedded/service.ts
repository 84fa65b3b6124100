// `make service`: a systemd unit, so that QuickLink is there after a reboot. Docker brings its containers back by itself.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { type Places, Refusal, type Say, projectDir } from './paths.ts'

const isRoot = process.getuid?.() === 0
const unitFile = isRoot
  ? '/etc/systemd/system/quicklink.service'
  : join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'systemd/user/quicklink.service')

/** As systemd reads it: quotes and backslashes are its own, and so is the per cent sign. */
const quoted = (word: string): string => `"${word.replaceAll(/["\\]/g, '\\$&').replaceAll('%', '%%')}"`

/** `make up` returns when all is ready, and what it started stays in the unit; the keeper starts again what dies. */
export function unit({ dataDir }: Places, env: NodeJS.ProcessEnv = process.env): string {
  const cli = [
    process.execPath,
    '--import',
    join(projectDir, 'server/node-version.js'),
    join(projectDir, 'appliance/cli.ts'),
  ]
  // In a command, a dollar sign begins a variable.
  const command = (name: string): string => [...cli, name].map(quoted).join(' ').replaceAll('$', '$$$$')
  return `[Unit]
Description=QuickLink, with its Postgres and Redis
After=network-online.target
Wants=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
WorkingDirectory=${projectDir.replaceAll('%', '%%')}
Environment=${quoted(`DATA_DIR=${dataDir}`)} ${quoted('MODE=embedded')} ${quoted(`PATH=${env['PATH'] ?? ''}`)}
ExecStart=${command('up')}
ExecStop=${command('down')}
TimeoutStartSec=300
TimeoutStopSec=60

[Install]
WantedBy=${isRoot ? 'multi-user' : 'default'}.target
`
}

function systemctl(...args: string[]): void {
  const { status, stderr } = spawnSync('systemctl', [...(isRoot ? [] : ['--user']), ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Refusal(`\`systemctl ${args.join(' ')}\` failed: ${stderr.trim()}`)
}

function refuseWithoutSystemd(): void {
  // As sd_booted(3) asks.
  if (existsSync('/run/systemd/system')) return
  throw new Refusal(
    `This machine is not run by systemd: let its init system run \`make up\` in ${projectDir} at boot, as ${userInfo().username}. (DRY=yes make service prints the unit for one that is.)`,
  )
}

export function service(places: Places, env: NodeJS.ProcessEnv, say: Say): void {
  if (env['DRY']) return say(unit(places).trimEnd())
  refuseWithoutSystemd()
  mkdirSync(dirname(unitFile), { recursive: true })
  writeFileSync(unitFile, unit(places))
  systemctl('daemon-reload')
  systemctl('enable', 'quicklink.service')
  say(`Wrote ${unitFile} and enabled it: QuickLink starts with the machine. \`make service-remove\` takes it away.`)
  if (!isRoot) say(`Without a login it starts only after \`sudo loginctl enable-linger ${userInfo().username}\`.`)
}

export function removeService(say: Say): void {
  refuseWithoutSystemd()
  if (!existsSync(unitFile)) throw new Refusal(`There is no ${unitFile}: nothing to remove.`)
  systemctl('disable', 'quicklink.service')
  rmSync(unitFile)
  systemctl('daemon-reload')
  say(`Removed ${unitFile}. What runs goes on running.`)
}

/** For the doctor. */
export const hasService = (): boolean => existsSync(unitFile)
