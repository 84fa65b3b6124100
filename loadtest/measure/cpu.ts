// CPU time of a process and all that it has started, and the cores that it may use.
import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { familyOf } from '../../embedded/daemon.ts'
import { onPath } from '../../embedded/redis-process.ts'

export interface Usage {
  readonly pid: number
  readonly parent: number
  readonly seconds: number
  /** Of its children that have ended. */
  readonly endedS: number
}

/** One line of /proc/<pid>/stat. The name of the program, in parentheses, may contain anything. */
export function parseStat(text: string, ticksPerS: number): Usage {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [utime = 0, stime = 0, cutime = 0, cstime = 0] = fields.slice(11, 15).map(Number)
  return {
    pid: parseInt(text, 10),
    parent: Number(fields[1]),
    seconds: (utime + stime) / ticksPerS,
    endedS: (cutime + cstime) / ticksPerS,
  }
}

/** `ps -axo pid=,ppid=,time=`, where the time is [[days-]hours:]minutes:seconds, with or without a fraction. */
export function parsePs(text: string): Usage[] {
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [pid, parent, time = ''] = line.trim().split(/\s+/)
      const [, days = '0', clock = ''] = /^(?:(\d+)-)?(.*)$/.exec(time) ?? []
      const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0) + Number(days) * 86_400
      return { pid: Number(pid), parent: Number(parent), seconds, endedS: 0 }
    })
}

const isLinux = process.platform === 'linux'
export const ticksPerS = isLinux ? Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' })) : NaN

function processes(): Usage[] {
  if (!isLinux) return parsePs(spawnSync('ps', ['-axo', 'pid=,ppid=,time='], { encoding: 'utf8' }).stdout)
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return parseStat(readFileSync(`/proc/${name}/stat`, 'utf8'), ticksPerS)
      } catch {
        return [] // It has ended since.
      }
    })
}

export const familyPids = (pid: number): number[] => familyOf(processes(), pid).map((each) => each.pid)

/** Seconds of CPU that it and its family have taken so far. */
export const cpuSeconds = (pid: number): number => cpuSecondsOf([pid])[0] ?? 0

/** The same of several, looked at once; 0 of one that is not there. */
export function cpuSecondsOf(pids: readonly (number | undefined)[]): number[] {
  const all = processes()
  return pids.map((pid) => (pid === undefined ? [] : familyOf(all, pid)).reduce((sum, { seconds }) => sum + seconds, 0))
}

/** With those that it has started and that have ended since. */
export const cpuSecondsWithEnded = (pid: number): number =>
  familyOf(processes(), pid).reduce((sum, { seconds, endedS }) => sum + seconds + endedS, 0)

/** Bytes of memory of one process. */
export function residentBytes(pid: number): number {
  return 1024 * Number(spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout)
}

/** Which cores are whose: as `taskset` takes them. */
export interface Cores {
  readonly server: string
  readonly generator: string
  readonly services: string
  readonly all: string
}

/** Undefined where processes cannot be pinned, or where one core has to do. */
export function planCores(count = availableParallelism(), canPin = onPath('taskset') !== undefined): Cores | undefined {
  if (!canPin || count < 2) return undefined
  const services = count < 4 ? String(count - 1) : `2-${count - 1}`
  return { server: '0', generator: '1', services, all: `0-${count - 1}` }
}

/** What it starts later inherits it. */
export function pin(pid: number, cores: string | undefined): void {
  if (cores === undefined) return
  for (const each of familyPids(pid)) spawnSync('taskset', ['-a', '-c', '-p', cores, String(each)])
}

/** The command with the cores that it may use in front. */
export const pinned = (command: readonly string[], cores: string | undefined): string[] =>
  cores === undefined ? [...command] : ['taskset', '-c', cores, ...command]
