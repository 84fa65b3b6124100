// Who holds a spool, and whether it still lives. On the same host: the process with that number, if it began when the
// holder did. On another host (a volume that was moved, or is shared): whoever has not touched it for a minute is dead.
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

export interface Holder {
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
export const self: Holder = { host, pid: process.pid, began: beganOf('self') ?? '0' }

export const nameOf = (id: string, holder: Holder = self): string =>
  `${id}@${holder.host}@${holder.pid}@${holder.began}`

export function parseName(name: string): { id: string; holder: Holder } | undefined {
  const [, id, host, pid, began] = /^([0-9a-f-]{36})@([^@]+)@(\d+)@(\d+)$/.exec(name) ?? []
  return id && host && pid && began ? { id, holder: { host, pid: Number(pid), began } } : undefined
}

export function isAlive(holder: Holder, touchedMs: number, nowMs = Date.now()): boolean {
  if (holder.host !== self.host) return nowMs - touchedMs < strangerMs
  const began = beganOf(holder.pid)
  if (began !== undefined) return holder.began === '0' || holder.began === began
  return holder.began === '0' && exists(holder.pid)
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
