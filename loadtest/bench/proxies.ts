// A real nginx and a real HAProxy between visitors and a server, each with the way of talking to an upstream that it has
// by itself, and with the settings that docs/OPERATE.md and docker/haproxy.cfg give it: read from there, so that what is measured
// is what is recommended.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onPath } from '../../embedded/redis-process.ts'
import { dieWithMe, makeRunDir, removeDir } from '../../embedded/temporary.ts'
import { pinned } from '../measure/cpu.ts'

export type ProxyName = 'nginx' | 'nginxSet' | 'haproxy' | 'haproxySet' | Alone
/** Nobody behind it: it answers one link itself. */
export type Alone = 'nginxAlone' | 'haproxyAlone'

interface Ports {
  readonly own: number
  readonly upstream: number
}

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

function replaced(text: string, was: string | RegExp, is: string): string {
  const changed = text.replace(was, is)
  if (changed === text) throw new Error(`The example of a proxy has no ${was} any more`)
  return changed
}

/** The block of docs/OPERATE.md, listening here. */
function nginxOfReadme({ own, upstream }: Ports): string {
  const [block = ''] = /(?<=```\n)upstream quicklink [\s\S]*?(?=```)/.exec(read('docs/OPERATE.md')) ?? []
  return replaced(
    replaced(block, 'listen 443 ssl', `listen 127.0.0.1:${own}`),
    '127.0.0.1:8080',
    `127.0.0.1:${upstream}`,
  )
}

const nginxByItself = ({ own, upstream }: Ports): string =>
  `server { listen 127.0.0.1:${own}; location / { proxy_pass http://127.0.0.1:${upstream}; } }\n`

/** One process, that keeps no log, and its visitors for as long as they like. */
const nginxOf = (block: string, dir: string): string => `
daemon off; master_process off; pid ${dir}/nginx.pid; error_log ${dir}/error.log;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 1000000000;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${dir}/${kind};`).join(' ')}
  ${block}}
`

/** docker/haproxy.cfg without what finds replicas and asks for their health: there is one server, and it is there. */
function haproxyOfDocker({ own, upstream }: Ports): string {
  const sections = read('docker/haproxy.cfg').split(/\n(?=[a-z])/)
  const kept = sections.filter((section) => !/^(#|resolvers|frontend health)/.test(section)).join('\n')
  const alone = kept.replace(/^ +(option httpchk|timeout check|default-server) .*\n/gm, '')
  const here = replaced(alone, 'bind :8080', `bind 127.0.0.1:${own}`)
  return replaced(here, /server-template .*/, `server one 127.0.0.1:${upstream}`)
}

const haproxyByItself = ({ own, upstream }: Ports): string => `
global
  maxconn 1000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen all
  bind 127.0.0.1:${own}
  server one 127.0.0.1:${upstream}
`

const fixed = 'https://example.org/a/page/of/usual/length?from=quicklink'

const nginxAlone = ({ own }: Ports): string =>
  `server { listen 127.0.0.1:${own}; location = /hot-link { return 302 ${fixed}; } }\n`

const haproxyAlone = ({ own }: Ports): string => `
global
  maxconn 1000
  nbthread 1
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend all
  bind 127.0.0.1:${own}
  http-request redirect location ${fixed} code 302 if { path /hot-link }
`

const configs: Readonly<Record<ProxyName, (ports: Ports, dir: string) => string>> = {
  nginx: (ports, dir) => nginxOf(nginxByItself(ports), dir),
  nginxSet: (ports, dir) => nginxOf(nginxOfReadme(ports), dir),
  haproxy: haproxyByItself,
  haproxySet: haproxyOfDocker,
  nginxAlone: (ports, dir) => nginxOf(nginxAlone(ports), dir),
  haproxyAlone,
}

export const proxyConfig = (name: ProxyName, ports: Ports, dir: string): string => configs[name](ports, dir)

type Program = 'nginx' | 'haproxy'
export const programOf = (name: ProxyName): Program => (name.startsWith('nginx') ? 'nginx' : 'haproxy')

export const isInstalled = (name: ProxyName): boolean => onPath(programOf(name)) !== undefined

/** As people say it: "nginx 1.22.1". */
export function versionOf(program: Program): string {
  const file = onPath(program)
  if (file === undefined) return 'not installed'
  const { stdout, stderr } = spawnSync(file, ['-v'], { encoding: 'utf8' })
  return /\d+\.\d[^ \n]*/.exec(stdout + stderr)?.[0] ?? 'unknown'
}

/** It also ends when this process does. */
export function startProxy(name: ProxyName, ports: Ports, cores: string | undefined): { pid: number; end(): void } {
  const program = programOf(name)
  const dir = makeRunDir('proxy')
  const file = join(dir, 'config')
  writeFileSync(file, proxyConfig(name, ports, dir))
  const args = program === 'nginx' ? ['-p', dir, '-e', join(dir, 'error.log'), '-c', file] : ['-db', '-q', '-f', file]
  const [command = '', ...rest] = pinned([onPath(program) ?? program, ...args], cores)
  const child = spawn(command, rest, { stdio: ['ignore', 'ignore', 'inherit'] })
  const callOff = dieWithMe(child.pid, dir)
  const end = (): void => {
    callOff()
    child.kill('SIGKILL')
    removeDir(dir)
  }
  return { pid: child.pid ?? 0, end }
}
