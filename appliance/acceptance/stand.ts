// An appliance of the acceptance's own: project, ports and data folder are no one else's. How its claims ask it.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { projectDir } from '../../embedded/paths.ts'
import { waitFor } from '../../embedded/wait.ts'
import { apiOf, created, send, type Answer, type Api } from '../../testing/http.ts'
import { steadily } from '../../testing/load.ts'
import { composed, docker, linesOf } from '../compose.ts'

const project = 'quicklink-acceptance'
export const port = 18_180
export const grafanaPort = 13_180
export const dataDir = mkdtempSync(join(tmpdir(), 'quicklink-acceptance-'))
const url = `http://127.0.0.1:${port}`
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

/** Again for a while when it fails: a busy engine lets a network go only a moment after its last container. */
export async function down(...options: string[]): Promise<void> {
  const isDown = (): Promise<string> => composed(['down', '--remove-orphans', ...options], { env: replicated })
  await waitFor(async () => [await isDown()], { deadlineMs: 20_000, everyMs: 1000 })
}

/** What is left of it; nothing after `removeAll`. */
export async function leftOver(): Promise<string[]> {
  const ofProject = ['-q', '--filter', `label=com.docker.compose.project=${project}`]
  const [containers, volumes] = await Promise.all([docker(['ps', '-a', ...ofProject]), docker(['volume', 'ls', ...ofProject])]) // prettier-ignore
  return linesOf(`${containers.text}\n${volumes.text}`)
}

export async function removeAll(): Promise<void> {
  await down('-v')
  rmSync(dataDir, { recursive: true, force: true })
}

/** A program of this project, as a person runs it. */
export function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return new Promise<{ code: number; text: string }>((resolve) => {
    const child = spawn(process.execPath, [program, ...args], { cwd: projectDir, env: { ...process.env, ...env } })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
    child.once('close', (code) => resolve({ code: code ?? 1, text }))
  })
}

/** `make <name>`. */
export const make = (name: string, env?: NodeJS.ProcessEnv) => run('appliance/cli.ts', [name], env)

export const visit = (path: string): Promise<Answer> => send(url, 'GET', path)

export const ownerKey = async (): Promise<string> => (await make('owner-key')).text.trim()
let key: string | undefined

export const api: Api = async (...asked) => {
  key ??= await ownerKey()
  for (let attempt = 1; ; attempt++) {
    const answer = await apiOf(url, key)(...asked)
    // A busy machine may be told to come back.
    if (answer.status !== 503 || attempt === 10) return answer
    await sleep(1000)
  }
}

export const createLink = async (to: string, code?: string): Promise<string> =>
  String((await created(api, '/links', { url: to, code }))['code'])

export async function redirects(code: string, to: string): Promise<void> {
  const asked = async (): Promise<unknown> => {
    const { status, headers } = await visit(`/${code}`)
    return [status, headers.location]
  }
  await expect.poll(asked, { timeout: 10_000, interval: 250 }).toEqual([302, to])
}

/** Visits at a steady rate, until it is ended: then those that were no redirect within ten seconds. */
export function traffic(codes: readonly string[], perSecond: number) {
  const over = Promise.withResolvers<undefined>()
  const agent = new Agent({ keepAlive: true, maxSockets: 16 })
  const paths = codes.map((code) => `/${code}`)
  const rate = (): number => perSecond
  const visits = steadily(() => url, paths, rate, over.promise, agent)
  return {
    /** From now on so many a second. */
    pace: (next: number) => void (perSecond = next),
    async end(): Promise<string[]> {
      over.resolve(undefined)
      const { answers, failures } = await visits
      const wrong = answers.filter(({ status, ms }) => status !== 302 || ms > 10_000)
      // The body says whose answer it was: QuickLink's names a problem, the proxy's is a page of its own.
      return [...failures, ...wrong.map(({ status, ms, text }) => `${status} after ${ms} ms: ${text.slice(0, 120)}`)]
    },
  }
}

/** The secrets themselves; init is the one that can see them. */
export async function secrets(): Promise<string[]> {
  const script = 'for file in /secrets/kept/*; do cat "$file"; echo; done'
  return linesOf(await composed(['run', '--rm', '--no-deps', '-T', '--entrypoint', 'sh', 'init', '-c', script]))
}
