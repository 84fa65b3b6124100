// An appliance of the acceptance's own: project, ports and data folder are no one else's. How its steps ask it.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { projectDir } from '../../embedded/paths.ts'
import { until } from '../../embedded/wait.ts'
import { compose, composed, docker } from '../compose.ts'
import { check } from './steps.ts'

const project = 'quicklink-acceptance'
export const port = 18_180
export const grafanaPort = 13_180
export const dataDir = mkdtempSync(join(tmpdir(), 'quicklink-acceptance-'))
Object.assign(process.env, {
  COMPOSE_PROJECT_NAME: project,
  COMPOSE_ANSI: 'never',
  COMPOSE_PROGRESS: 'quiet',
  PORT: String(port),
  GRAFANA_PORT: String(grafanaPort),
  DATA_DIR: dataDir,
  MODE: 'docker',
})

/** With it, a command means two replicas behind the proxy. */
export const replicated = { COMPOSE_FILE: 'docker-compose.yml:docker-compose.replicas.yml' }

export async function up(): Promise<string> {
  const beganMs = performance.now()
  await composed(['up', '-d', '--wait'])
  return `all healthy after ${((performance.now() - beganMs) / 1000).toFixed(1)} s`
}

/** Again for a while when it fails: a busy engine lets a network go only a moment after its last container. */
export async function down(...options: string[]): Promise<void> {
  let said = ''
  const isDown = async (): Promise<boolean> => {
    const { code, errors } = await compose(['down', '--remove-orphans', ...options], { env: replicated })
    said = errors.trim()
    return code === 0
  }
  check(await until(isDown, 20_000, 1000), `\`docker compose down\` fails: ${said}`)
}

/** What is left of it; nothing after `removeAll`. */
export const leftOver = async (): Promise<string[]> => {
  const ofProject = ['-q', '--filter', `label=com.docker.compose.project=${project}`]
  const [containers, volumes] = await Promise.all([docker(['ps', '-a', ...ofProject]), docker(['volume', 'ls', ...ofProject])]) // prettier-ignore
  return `${containers.text}\n${volumes.text}`.split('\n').filter((line) => line !== '')
}

export async function removeAll(): Promise<void> {
  await down('-v').catch((error: unknown) => console.log(String(error)))
  rmSync(dataDir, { recursive: true, force: true })
}

/** `make <name>`, as a person runs it. */
export function make(name: string, env: NodeJS.ProcessEnv = {}): Promise<{ code: number; text: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['appliance/cli.ts', name], {
      cwd: projectDir,
      env: { ...process.env, ...env },
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
    child.once('close', (code) => resolve({ code: code ?? 1, text }))
  })
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

export interface Visited {
  readonly status: number
  readonly location: string | undefined
  readonly body: string
}

export function visit(path: string): Promise<Visited> {
  return new Promise((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port, path, agent, timeout: 10_000 }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, location: answer.headers.location, body }))
    })
    asking.once('timeout', () => asking.destroy(new Error('no answer within 10 s')))
    asking.once('error', reject)
    asking.end()
  })
}

export const ownerKey = async (): Promise<string> => (await make('owner-key')).text.trim()
let key: string | undefined

interface Answer {
  readonly status: number
  readonly json: Readonly<Record<string, unknown>>
}

export async function api(method: string, path: string, body: object): Promise<Answer> {
  key ??= await ownerKey()
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await answer.text()
    // A busy machine may be told to come back.
    if (answer.status !== 503 || attempt === 10) {
      return { status: answer.status, json: (text ? JSON.parse(text) : {}) as Answer['json'] }
    }
    await sleep(1000)
  }
}

export async function createLink(url: string, code?: string): Promise<string> {
  const { status, json } = await api('POST', '/links', { url, ...(code ? { code } : {}) })
  check(status === 201, `a create answered ${status}: ${JSON.stringify(json)}`)
  return String(json['code'])
}

export async function redirects(code: string, url: string): Promise<void> {
  let last = ''
  const asked = async (): Promise<boolean> => {
    const { status, location } = await visit(`/${code}`)
    last = `${status} ${location ?? ''}`
    return status === 302 && location === url
  }
  check(await until(asked, 10_000, 250), `/${code} answers ${last} instead of a redirect to ${url}`)
}

/** The secrets themselves; init is the one that can see them. */
export async function secrets(): Promise<string[]> {
  const script = 'for file in /secrets/kept/*; do cat "$file"; echo; done'
  const text = await composed(['run', '--rm', '--no-deps', '-T', '--entrypoint', 'sh', 'init', '-c', script])
  return text.trim().split('\n')
}
