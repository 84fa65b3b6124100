// Who runs, what is asked of it, and how a run is measured.
import { hotCode, linkCount, loadLinks, trusted, warmCount, warmRedis, type Arena, type Contestant } from './arena.ts'
import { ask } from './ask.ts'
import { cpuSeconds } from '../measure/cpu.ts'
import type { Generator } from './generator.ts'
import { browserHeaders, examplePath, type Load } from './loads.ts'
import type { SubjectResult } from './results.ts'
import { spreadOf } from '../measure/stats.ts'
import type { BenchServer } from './stand.ts'

export interface Subject {
  readonly name: string
  readonly what: string
  readonly server: Contestant
  readonly load: Load
  /** Of the server, and of the generator, where they are not the usual ones. */
  readonly spread?: boolean
  readonly connections?: number
}

export interface Run {
  readonly requests: number
  readonly cpuUs: number
  readonly rps: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly failed: number
}

export interface Servers {
  readonly raw: BenchServer
  readonly http: BenchServer
  readonly noRedis: BenchServer
  readonly two: BenchServer
}

export const hot: Load = { paths: { kind: 'one', path: `/${hotCode}` }, headers: [], status: 302 }
const hotByBrowser: Load = { ...hot, headers: browserHeaders }

export async function startServers(arena: Arena): Promise<Servers> {
  const { stand, cores } = arena
  const REDIS_URL = stand.redis.url
  // It makes the tables; a Redis that sees the links only now has no news of them to work off.
  const noRedis = await arena.quickLink({})
  await loadLinks(stand)
  const raw = await arena.quickLink({ REDIS_URL })
  await trusted(raw)
  await warmRedis(stand)
  const http = await arena.quickLink({ REDIS_URL, FRONT_DOOR: 'http' })
  const two = await arena.quickLink({ REDIS_URL, WORKERS: '2' }, cores?.all)
  await Promise.all([http, two].map(trusted))
  return { raw, http, noRedis, two }
}

export async function makeSubjects(arena: Arena, { raw, http, noRedis, two }: Servers): Promise<Subject[]> {
  const net = await arena.peer('net')
  const bare = await arena.peer('http')
  const express = await arena.peer('express')
  const handler = await arena.peer('handler')
  const uniform = (count: number): Load => ({
    paths: { kind: 'uniform', prefix: 'link-', count },
    headers: [],
    status: 302,
  })
  const create: Load = {
    paths: { kind: 'one', path: '/api/v1/links' },
    headers: [['Authorization', `Bearer ${arena.key}`]],
    body: JSON.stringify({ url: 'https://example.org/a/page/of/usual/length?from=quicklink' }),
    status: 201,
  }
  return [
    { name: 'net', what: 'raw `net` responder (the floor)', server: net, load: hot },
    { name: 'http', what: 'bare `node:http`', server: bare, load: hot },
    { name: 'raw', what: 'QuickLink, tier-1 hit, front door', server: raw, load: hot },
    { name: 'frontHttp', what: 'QuickLink, tier-1 hit, `FRONT_DOOR=http`', server: http, load: hot },
    { name: 'netBrowser', what: "raw `net`, a browser's headers", server: net, load: hotByBrowser },
    { name: 'httpBrowser', what: "bare `node:http`, a browser's headers", server: bare, load: hotByBrowser },
    { name: 'rawBrowser', what: "QuickLink, front door, a browser's headers", server: raw, load: hotByBrowser },
    { name: 'frontHttpBrowser', what: "QuickLink, `FRONT_DOOR=http`, a browser's headers", server: http, load: hotByBrowser },
    { name: 'express', what: 'bare Express', server: express, load: hot },
    { name: 'handler', what: "QuickLink's handler behind Express, no look-up before it", server: handler, load: hot },
    { name: 'tier2', what: `QuickLink, tier-2 hit, uniform over ${warmCount} codes`, server: raw, load: uniform(warmCount) },
    { name: 'tier3', what: `QuickLink, Redis off, uniform over ${linkCount} codes`, server: noRedis, load: uniform(linkCount) },
    { name: 'scan', what: 'QuickLink, distinct absent codes (404)', server: raw, load: { paths: { kind: 'distinct', prefix: 'no-' }, headers: [], status: 404 } },
    { name: 'create', what: 'QuickLink, create a link (API)', server: raw, load: create },
    { name: 'two', what: 'QuickLink, tier-1 hit, front door, 2 workers', server: two, load: hot, spread: true },
  ] // prettier-ignore
}

/** Nothing is worth measuring that answers something else. */
export async function checkAnswers(subjects: readonly Subject[]): Promise<void> {
  for (const { name, server, load } of subjects) {
    const { body } = load
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const headers = { ...Object.fromEntries(load.headers), ...type }
    const method = body === undefined ? 'GET' : 'POST'
    const { status } = await ask(server.url, examplePath(load), { method, body, headers })
    if (status !== load.status) throw new Error(`${name} was answered ${status} instead of ${load.status}`)
  }
}

export async function measure(arena: Arena, generator: Generator, subject: Subject, seconds: number): Promise<Run> {
  const { server, load, spread } = subject
  const beforeS = cpuSeconds(server.pid)
  const driven = await generator.drive({
    url: server.url,
    load,
    seconds,
    connections: subject.connections ?? 64,
    threads: spread ? 2 : 1,
    cores: spread ? arena.cores?.all : arena.cores?.generator,
  })
  const cpuS = cpuSeconds(server.pid) - beforeS
  return { ...driven, cpuUs: (cpuS * 1e6) / driven.requests, rps: driven.requests / driven.seconds }
}

export function summarise(what: string, runs: readonly Run[]): SubjectResult {
  const of = (pick: (run: Run) => number) => spreadOf(runs.map(pick))
  const sum = (pick: (run: Run) => number): number => runs.reduce((total, run) => total + pick(run), 0)
  return {
    what,
    cpuUs: of(({ cpuUs }) => cpuUs),
    rps: of(({ rps }) => rps),
    p50Ms: of(({ p50Ms }) => p50Ms),
    p99Ms: of(({ p99Ms }) => p99Ms),
    p999Ms: of(({ p999Ms }) => p999Ms),
    requests: sum(({ requests }) => requests),
    failed: sum(({ failed }) => failed),
  }
}

/** All of them in turn, again and again: what changes on the machine meanwhile changes it for all. */
export async function measureAll(
  arena: Arena,
  generator: Generator,
  subjects: readonly Subject[],
  { seconds, repetitions, warmUpS }: { seconds: number; repetitions: number; warmUpS: number },
  say: (line: string) => void,
): Promise<Record<string, SubjectResult>> {
  for (const subject of subjects) await measure(arena, generator, subject, warmUpS)
  const runs = new Map<string, Run[]>(subjects.map(({ name }) => [name, []]))
  for (let n = 1; n <= repetitions; n++) {
    for (const subject of subjects) {
      const run = await measure(arena, generator, subject, seconds)
      runs.get(subject.name)?.push(run)
      const figures = `${run.cpuUs.toFixed(2).padStart(8)} µs  ${run.rps.toFixed(0).padStart(7)}/s`
      say(`${n}/${repetitions} ${figures}  ${subject.what}${run.failed > 0 ? `  (${run.failed} failed)` : ''}`)
    }
  }
  return Object.fromEntries(subjects.map(({ name, what }) => [name, summarise(what, runs.get(name) ?? [])]))
}
