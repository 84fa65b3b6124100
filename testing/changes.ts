// The changes that a cache must not outlive, made while servers are under load, and what their answers say of it.
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { withSql } from '../embedded/sql.ts'
import type { Code } from '../server/link.ts'
import { singleKeys } from '../server/redis-keys.ts'
import { fewAtOnce } from './few-at-once.ts'
import { send, type Answer } from './http.ts'
import { steadily, type LoadAnswer } from './load.ts'
import type { ServerProcess } from './server-process.ts'
import { redisCommand } from './services.ts'
import { waitFor } from '../embedded/wait.ts'

/** A Location, or the status of an answer that has none. */
type Outcome = string | number

export interface Change {
  readonly what: string
  readonly code: Code
  readonly before: Outcome
  readonly after: Outcome
  make(): Promise<void>
}

/** When it was acknowledged, on the clock of the load. */
export interface Made extends Change {
  readonly atMs: number
}

/** The promise: a request that began later than this after the acknowledgement gets what is now. */
export const promiseMs = 1000

export const outcome = ({ status, headers }: Answer): Outcome => headers.location ?? status

const destination = (code: string, which: string): string => `https://example.org/${code}/${which}`

/**
 * Disable, update, delete with re-creation, creation of what was absent, other rules, and a password for what had none; by either
 * server in turn.
 */
export async function fourChanges(servers: readonly ServerProcess[], prefix: string): Promise<Change[]> {
  const link = async (
    what: string,
    n: number,
    after: Outcome,
    make: (path: string, by: ServerProcess) => Promise<unknown>,
    made: (before: string) => object = (url) => ({ url }),
  ) => {
    const code = `${prefix}-${what}` as Code
    const by = servers[n % servers.length] as ServerProcess
    const before = what === 'create' ? 404 : destination(code, 'before')
    if (what !== 'create') await done(by, 201, 'POST', '/links', { code, ...made(String(before)) })
    return { what, code, before, after, make: async () => void (await make(`/links/${code}`, by)) }
  }
  const after = (what: string): string => destination(`${prefix}-${what}`, 'after')
  const create = (what: string, by: ServerProcess): Promise<unknown> =>
    done(by, 201, 'POST', '/links', { code: `${prefix}-${what}`, url: after(what) })
  // For everybody: what is judged is which rules hold, not what they ask for.
  const leads = (url: string): object => ({
    url: destination(prefix, 'of-no-rule'),
    rules: [{ when: { after: '2001-01-01T00:00:00Z' }, url }],
  })
  return Promise.all([
    link('disable', 0, 404, (path, by) => done(by, 200, 'PATCH', path, { enabled: false })),
    link('update', 1, after('update'), (path, by) => done(by, 200, 'PATCH', path, { url: after('update') })),
    link('recreate', 2, after('recreate'), async (path, by) => {
      await done(by, 204, 'DELETE', path)
      await create('recreate', by)
    }),
    link('create', 3, after('create'), (_, by) => create('create', by)),
    link('rules', 0, after('rules'), (path, by) => done(by, 200, 'PATCH', path, leads(after('rules'))), leads),
    link('password', 1, 401, (path, by) => done(by, 200, 'PATCH', path, { password: 'correct horse' })),
  ])
}

/**
 * The same for many codes, each of which is then asked for about once a second: nobody has a copy of his own of it that
 * would hide what Redis says.
 */
export async function seldomAsked(servers: readonly ServerProcess[], prefix: string): Promise<Change[]> {
  const prefixes = Array.from({ length: 16 }, (_, n) => `${prefix}${n}`)
  return (await fewAtOnce(prefixes, 2, (each) => fourChanges(servers, each))).flat()
}

async function done(by: ServerProcess, status: number, method: string, path: string, body?: unknown): Promise<void> {
  const answer = await by.api(method, path, body)
  if (answer.status !== status) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`)
}

export async function makeAll(changes: readonly Change[]): Promise<Made[]> {
  const make = async (change: Change): Promise<Made> => {
    await change.make()
    return { ...change, atMs: performance.now() }
  }
  return fewAtOnce(changes, 12, make)
}

/** Until every server has answered from Redis what is to be changed, so that Redis holds it. */
export async function cacheAll(servers: readonly ServerProcess[], changes: readonly Change[], redisUrl: string) {
  const isCached = async ({ code, before }: Change): Promise<boolean> => {
    for (const { url } of servers) {
      const answer = await send(url, 'GET', `/${code}`)
      if (outcome(answer) !== before) throw new Error(`${code} was answered ${outcome(answer)}`)
    }
    return (await redisCommand(redisUrl, `EXISTS ${singleKeys.link(code)} ${singleKeys.hint(code)}`)) === ':1'
  }
  await Promise.all(changes.map((change) => waitFor(() => isCached(change), { deadlineMs: 10_000, everyMs: 50 })))
}

export interface Watched<T> {
  readonly result: T
  /** Of each server. */
  readonly answers: readonly (readonly LoadAnswer[])[]
  readonly failures: readonly string[]
}

/** The same way back, for a database that is restored to what was before. */
export const undone = (changes: readonly Change[]): Change[] =>
  changes.map((change) => ({
    ...change,
    what: `${change.what}, undone`,
    before: change.after,
    after: change.before,
    make: () => Promise.reject(new Error('only a restore undoes it')),
  }))

export const madeAt = (changes: readonly Change[], atMs: number): Made[] =>
  changes.map((change) => ({ ...change, atMs }))

const perSecond = 100

/** Asks every server for every code, all the time that the work takes; those of `seldom` less than once a second. */
export async function underLoad<T>(
  servers: readonly ServerProcess[],
  changes: readonly Pick<Change, 'code'>[],
  work: () => Promise<T>,
  seldom: readonly Pick<Change, 'code'>[] = [],
): Promise<Watched<T>> {
  const working = work()
  const path = ({ code }: Pick<Change, 'code'>): string => `/${code}`
  const often = changes.map(path)
  const paths =
    seldom.length === 0 ? often : seldom.flatMap((each, n) => [path(each), often[n % often.length] as string])
  const [result, ...loads] = await Promise.all([
    working,
    ...servers.map(({ url }) =>
      steadily(
        () => url,
        paths,
        perSecond,
        working.catch(() => undefined),
      ),
    ),
  ])
  return { result, answers: loads.map(({ answers }) => answers), failures: loads.flatMap(({ failures }) => failures) }
}

/** Longer than this between two requests, and the machine stood still: nobody could pass on what was new. */
const stallMs = 60

/** How long it stood still in this time. */
export function stalledMs(startsMs: readonly number[], fromMs: number, toMs: number): number {
  const inside = startsMs.filter((ms) => ms >= fromMs && ms <= toMs)
  return inside.reduce((sum, ms, n) => {
    const gapMs = ms - (inside[n - 1] ?? ms)
    return gapMs > stallMs ? sum + gapMs : sum
  }, 0)
}

/**
 * What is wrong with the answers: empty, when the promise was kept and the test could have seen it broken. A 503 is no old
 * answer: it says that nobody could say in time.
 */
export function broken({ answers, failures }: Watched<unknown>, made: readonly Made[]): string[] {
  const wrong = [...failures]
  const starts = answers.map((all) => all.map(({ startedMs }) => startedMs).sort((a, b) => a - b))
  for (const change of made) {
    const path = `/${change.code}`
    answers.forEach((all, server) => {
      const about = all.filter((answer) => answer.path === path && answer.status !== 503)
      const isLate = ({ startedMs }: LoadAnswer): boolean =>
        startedMs - change.atMs > promiseMs + stalledMs(starts[server]!, change.atMs, startedMs)
      const late = about.filter(isLate)
      for (const answer of late) {
        if (outcome(answer) === change.after) continue
        const afterMs = (answer.startedMs - change.atMs).toFixed(0)
        wrong.push(`server ${server}, ${afterMs} ms after ${change.what}: ${path} was ${outcome(answer)}`)
      }
      if (late.length === 0) wrong.push(`server ${server} gave no answer for ${path} any more`)
    })
  }
  return wrong
}

/** What Redis holds and should not. */
export async function oldInRedis(redisUrl: string, made: readonly Made[]): Promise<string[]> {
  const found: string[] = []
  for (const { code, before, after } of made) {
    const value = (await redisCommand(redisUrl, `GET ${singleKeys.link(code)}`)) ?? 'no answer'
    const hint = await redisCommand(redisUrl, `EXISTS ${singleKeys.hint(code)}`)
    if (typeof before === 'string' && value.includes(`"${before}"`)) found.push(`${code}: ${value}`)
    if (typeof after === 'string' && value.includes('{"x":')) found.push(`${code}: ${value}`)
    if (typeof after === 'string' && hint !== ':0') found.push(`${code}: a 404 hint beside a link`)
    if (value === 'no answer') found.push(`${code}: Redis did not answer`)
  }
  return found
}

/**
 * What readers are given, whatever is served, as long as the promise needs to be judged: time in which the machine stands still
 * judges nothing. Not for ever: a machine that does little else says so in `broken`.
 */
export async function untilJudged(): Promise<void> {
  const endsMs = performance.now() + 20_000
  let leftMs = promiseMs + 800
  for (let lastMs = performance.now(); leftMs > 0 && lastMs < endsMs;) {
    await pause(20)
    const nowMs = performance.now()
    if (nowMs - lastMs <= stallMs) leftMs -= nowMs - lastMs
    lastMs = nowMs
  }
}

interface Scene {
  readonly servers: readonly ServerProcess[]
  /** That hold what is to be changed. */
  readonly redisUrls: readonly string[]
  readonly changes: readonly Change[]
  readonly seldom?: readonly Change[]
  /** That are looked into at the end, where they are not the same. */
  readonly leftUrls?: readonly string[]
}

/** The promise, under load: whatever happens, what was made is seen by every server a second later, and Redis has nothing old. */
export async function expectKept(scene: Scene, happens: () => Promise<Made[]>): Promise<void> {
  const { servers, redisUrls, changes, seldom = [], leftUrls = redisUrls } = scene
  for (const url of redisUrls) await cacheAll(servers, [...changes, ...seldom], url)
  const work = async (): Promise<Made[]> => {
    const made = await happens()
    await untilJudged()
    return made
  }
  const watched = await underLoad(servers, changes, work, seldom)
  expect(broken(watched, watched.result)).toEqual([])
  for (const url of leftUrls) expect(await oldInRedis(url, watched.result)).toEqual([])
}

interface RedisStatus {
  readonly ready?: boolean
  readonly trusted?: boolean
  readonly breaker?: string
}

async function allSay(servers: readonly ServerProcess[], good: (redis: RedisStatus) => boolean): Promise<void> {
  const check = async ({ opsUrl }: ServerProcess): Promise<void> => {
    const { text } = await send(opsUrl, 'GET', '/statusz')
    const { workers } = JSON.parse(text) as { workers: { status: { redis?: RedisStatus } | null }[] }
    if (!workers.every(({ status }) => good(status?.redis ?? {}))) throw new Error(text)
  }
  await waitFor(async () => (await Promise.all(servers.map(check))).length, { deadlineMs: 10_000, everyMs: 50 })
}

/** Every worker of every server trusts the Redis that it talks to. */
export const allTrust = (servers: readonly ServerProcess[]): Promise<void> =>
  allSay(servers, ({ trusted, breaker }) => trusted === true && breaker === 'closed')

/**
 * Every server is connected to its Redis again and readers could ask it, for a while before the first pass. (A pass
 * would take a few milliseconds; whether anybody asks in these would be luck. So its table is locked.)
 */
export async function connectedBeforeAnyPass(
  databaseUrl: string,
  servers: readonly ServerProcess[],
  comeBack: () => Promise<void>,
): Promise<void> {
  await withSql(databaseUrl, (hand) =>
    hand.transaction(async (sql) => {
      await sql.query('lock table outbox in access exclusive mode')
      await comeBack()
      await allSay(servers, ({ ready }) => ready === true)
      await pause(700)
    }),
  )
}

/** A transaction that began before the work and ends after it. */
export const besideOpenTransaction = <T>(databaseUrl: string, work: () => Promise<T>): Promise<T> =>
  withSql(databaseUrl, (hand) =>
    hand.transaction(async (sql) => {
      await sql.query('select pg_current_xact_id()')
      return work()
    }),
  )
