// `make check`: everything that needs no service, side by side. One line per step; the output only of what failed.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'

const sources = [
  'server',
  'appliance',
  'cli',
  'clients',
  'console',
  'contract',
  'embedded',
  'loadtest',
  'scripts',
  'testing',
]

/** The slow ones first, so that they do not run alone at the end. What only looks at contents remembers them in .cache. */
const steps: Readonly<Record<string, readonly string[]>> = {
  lint: ['eslint', '.', '--max-warnings=0'],
  types: ['tsc', '--incremental', '--tsBuildInfoFile', '.cache/types.json'],
  'types of the console': [
    'tsc',
    '--project',
    'console/src',
    '--incremental',
    '--tsBuildInfoFile',
    '.cache/types-console.json',
  ],
  'and of its tests': [
    'tsc',
    '--project',
    'console/browser',
    '--incremental',
    '--tsBuildInfoFile',
    '.cache/types-browser.json',
  ],
  tests: ['vitest', 'run', '--project=unit'],
  format: [
    'prettier',
    '--check',
    '--log-level=warn',
    '--cache',
    '--cache-strategy=content',
    '--cache-location=.cache/format.json',
    '.',
  ],
  'import rules': ['depcruise', ...sources],
  'dead code': ['knip'],
}

function run([command = '', ...args]: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(`node_modules/.bin/${command}`, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    const hear = (chunk: Buffer): void => {
      output += chunk.toString()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.on('error', (error) => resolve({ code: 1, output: `${error.message}: run npm ci first` }))
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

const failures: string[] = []
const waiting = Object.entries(steps)
const beganMs = performance.now()

async function lane(): Promise<void> {
  for (let step = waiting.shift(); step; step = waiting.shift()) {
    const [name, command] = step
    const stepBeganMs = performance.now()
    const { code, output } = await run(command)
    const seconds = ((performance.now() - stepBeganMs) / 1000).toFixed(1)
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(12)} ${seconds.padStart(5)} s`)
    if (code !== 0) failures.push(`── ${name}: ${command.join(' ')}\n${output.trim()}`)
  }
}

await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, lane))
for (const failure of failures) console.log(`\n${failure}`)
console.log(
  `\n${failures.length === 0 ? 'all good' : `${failures.length} failed`}, ${((performance.now() - beganMs) / 1000).toFixed(1)} s`,
)
process.exitCode = failures.length === 0 ? 0 : 1
