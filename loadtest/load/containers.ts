// Containers as this machine's kernel sees them: their first process, for its CPU. Where the engine runs in a machine of its
// own there is none, and nothing is said of its CPU.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

interface First {
  readonly pid: string
  readonly id: string
}
const known = new Map<string, First>()

/** By name or id. Asks Docker only when it was started since. */
export function pidOfContainer(container: string): number | undefined {
  const last = known.get(container)
  if (last !== undefined && isHere(last)) return Number(last.pid)
  const { stdout } = spawnSync('docker', ['inspect', '-f', '{{.State.Pid}} {{.Id}}', container], { encoding: 'utf8' })
  const [pid = '', id = ''] = stdout.trim().split(' ')
  if (id === '' || !isHere({ pid, id })) return undefined
  known.set(container, { pid, id })
  return Number(pid)
}

/** A number from another machine may be somebody else's here. */
function isHere({ pid, id }: First): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(id)
  } catch {
    return false
  }
}
