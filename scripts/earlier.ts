// An earlier commit beside this one: its files in a folder of their own for as long as the work takes, with our packages.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectDir } from '../embedded/paths.ts'

/** `work` is told where its server begins. */
export async function withEarlier<T>(commit: string, work: (main: string) => Promise<T>): Promise<T> {
  const folder = join(mkdtempSync(join(tmpdir(), 'quicklink-earlier-')), 'quicklink')
  const git = (...args: string[]): void => {
    const { status, stderr } = spawnSync('git', args, { cwd: projectDir, encoding: 'utf8' })
    if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
  }
  git('worktree', 'add', '--detach', folder, commit)
  try {
    symlinkSync(join(projectDir, 'node_modules'), join(folder, 'node_modules'))
    return await work(join(folder, 'server/main.ts'))
  } finally {
    git('worktree', 'remove', '--force', folder)
    rmSync(join(folder, '..'), { recursive: true, force: true })
  }
}
