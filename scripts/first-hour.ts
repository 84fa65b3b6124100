// What README tells each of the three people to type, in a fresh clone, with the time that each step took. A doctor that has
// something to say is no failure.
//   npm run -s first-hour        WHO=team,performance,reliability   SECONDS and REPETITIONS make its bench shorter
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command } from '../loadtest/report/command.ts'
import { choicesOf } from '../loadtest/report/knobs.ts'
import { projectDir } from '../embedded/paths.ts'
import { freePort } from '../embedded/process.ts'

const readme = readFileSync(join(projectDir, 'README.md'), 'utf8')
const blocks = Array.from(readme.matchAll(/```sh\n([^`]*)```/g), ([, text = '']) => text.trim())

/** README has it, in a block or in a line. */
function step(word: string): string {
  const block = blocks.find((text) => text.includes(word))
  if (block !== undefined) return block
  if (readme.includes(`\`${word}\``)) return word
  throw new Error(`README does not tell anybody to type ${word} any more`)
}

const goals = {
  team: ['git clone', 'long/address', 'ql()', 'make doctor', 'make backup'],
  performance: ['git clone', 'make bench'],
  reliability: ['git clone', 'make drill NAME=redis-refused'],
} as const

await command(async () => {
  const names = ['team', 'performance', 'reliability'] as const
  const [port, opsPort] = [await freePort(), await freePort()]
  const dir = mkdtempSync(join(tmpdir(), 'quicklink-first-hour-'))
  const folder = join(dir, 'quicklink')
  const env = { ...process.env, PORT: String(port), OPS_PORT: String(opsPort), MODE: 'embedded' }
  let failed = 0
  const run = (script: string, cwd: string): void => {
    const here = script.replace('<this repository>', projectDir).replaceAll('localhost:8080', `localhost:${port}`)
    console.log(`\n$ ${here.replaceAll('\n', '\n  ')}`)
    const beganMs = performance.now()
    const { status } = spawnSync('bash', ['-euc', here], { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] })
    console.log(
      `── ${((performance.now() - beganMs) / 1000).toFixed(1)} s${status === 0 ? '' : `, exit code ${status}`}`,
    )
    if (status !== 0 && script !== 'make doctor') failed++
  }
  try {
    for (const who of choicesOf(process.env, 'WHO', names) ?? names) {
      const beganMs = performance.now()
      console.log(`\n═══ ${who}`)
      for (const word of goals[who]) run(step(word), word === 'git clone' ? dir : folder)
      run('make down', folder)
      console.log(`═══ ${who}: ${((performance.now() - beganMs) / 1000).toFixed(0)} s in all`)
      rmSync(folder, { recursive: true, force: true })
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
  return failed === 0 ? 0 : 1
})
