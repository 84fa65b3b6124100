// A disk of its own under one folder, which can be full: a tmpfs that is made no larger than what is on it. Whoever writes
// there is told ENOSPC by the kernel, and no memory is filled for it.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Refusal } from '../../embedded/paths.ts'

export interface SmallDisk {
  readonly dir: string
  fill(): void
  makeRoom(): void
  /** As a stranger who tries to write there finds it. */
  isFull(): boolean
}

/** More than anything that a drill writes; it is not taken until it is written. */
const sizeMb = 1024

export function mountSmallDisk(dir: string): SmallDisk {
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  mount(['-t', 'tmpfs', '-o', `size=${sizeMb}m,mode=0755`, 'quicklink-drill', dir])
  // A tmpfs of no bytes would be one without a bound: so there is always something on it.
  writeFileSync(join(dir, '.ballast'), Buffer.alloc(1))
  const resize = (bytes: number): void => mount(['-o', `remount,size=${bytes}`, dir])
  return {
    dir,
    fill() {
      // Somebody may be writing meanwhile: then it is asked again what is used.
      for (let tries = 10; ; tries--) {
        const { blocks, bfree, bsize } = statfsSync(dir)
        try {
          return resize((blocks - bfree) * bsize)
        } catch (error) {
          if (tries === 0) throw error
        }
      }
    },
    makeRoom: () => resize(sizeMb * 2 ** 20),
    isFull() {
      const file = join(dir, '.drill')
      try {
        writeFileSync(file, Buffer.alloc(64))
        return false
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'ENOSPC'
      } finally {
        rmSync(file, { force: true })
      }
    },
  }
}

/** Harmless when it is not there. Lazily: who still has a file open keeps it, and nobody finds it any more. */
export function unmountSmallDisk(dir: string): void {
  spawnSync('umount', ['--lazy', dir], { stdio: 'ignore' })
}

function mount(args: readonly string[]): void {
  const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' })
  if (status !== 0) throw new Refusal(`A disk that can be full could not be mounted: ${stderr.trim()}`)
}

/** Why there can be none here; undefined: there can. */
export const noSmallDisk = (): string | undefined =>
  process.platform === 'linux' && process.getuid?.() === 0
    ? undefined
    : 'a small disk is mounted for it, which only root on Linux may'
