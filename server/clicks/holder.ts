// Who owns a spool, and whether it still lives. On the same host: the process with that number, if it began when the
// owner did. On another host (a volume that was moved, or is shared): whoever has not touched it for a minute is dead.
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

export interface Owner {
  readonly host: string
  readonly pid: number
  /** In ticks since the boot, where the system tells; else 0. */
  readonly began: string
}

const strangerMs = 60_000

/** Linux: the 22nd field of /proc/{pid}/stat; the second may contain anything, and ends with the last bracket. */
function beganOf(pid: number | 'self'): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}

const host =
  hostname()
    .replace(/[^A-Za-z0-9.-]/g, '_')
    .slice(0, 64) || 'host'
export const self: Owner = { host, pid: process.pid, began: beganOf('self') ?? '0' }

export const nameOf = (id: string, owner: Owner = self): string => `${id}@${owner.host}@${owner.pid}@${owner.began}`

export function parseName(name: string): { id: string; owner: Owner } | undefined {
  const [, id, host, pid, began] = /^([0-9a-f-]{36})@([^@]+)@(\d+)@(\d+)$/.exec(name) ?? []
  return id && host && pid && began ? { id, owner: { host, pid: Number(pid), began } } : undefined
}

export function isAlive(owner: Owner, touchedMs: number, nowMs = Date.now()): boolean {
  if (owner.host !== self.host) return nowMs - touchedMs < strangerMs
  const began = beganOf(owner.pid)
  if (began !== undefined) return owner.began === '0' || owner.began === began
  return owner.began === '0' && exists(owner.pid)
}

/** Where there is no /proc. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
