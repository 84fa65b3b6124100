// npm run -s lines: lines of TypeScript by room, with what only tests use apart. Whoever makes the house smaller shows it by this.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

interface Count {
  files: number
  sources: number
  tests: number
}

const forTests = /\.(test|stub)\.ts$|^(contract|testing)\/|\/(model|acceptance)\//

/** In `server` and `loadtest` the folders are the rooms; elsewhere the top folder is. */
function roomOf(path: string): string {
  const [top = '', second = '', third] = path.split('/')
  if (second === '') return '(top)'
  return ['server', 'loadtest'].includes(top) && third !== undefined ? `${top}/${second}` : top
}

/** With files that are new, and without what git ignores. */
const listed = String(execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', '*.ts', '*.tsx']))
const paths = listed.split('\n').filter((path) => path !== '' && existsSync(path))

const rooms = new Map<string, Count>()
const all: Count = { files: 0, sources: 0, tests: 0 }
for (const path of paths) {
  const room = roomOf(path)
  const count = rooms.get(room) ?? { files: 0, sources: 0, tests: 0 }
  rooms.set(room, count)
  const lines = readFileSync(path, 'utf8').split('\n').length - 1
  for (const each of [count, all]) {
    each.files++
    each[forTests.test(path) ? 'tests' : 'sources'] += lines
  }
}

const row = (...[name, ...cells]: readonly [string, ...(string | number)[]]): void => {
  console.log(name.padEnd(22) + cells.map((cell) => String(cell).padStart(9)).join(''))
}
row('room', 'files', 'sources', 'tests', 'lines')
for (const [name, { files, sources, tests }] of [...rooms].sort(([a], [b]) => a.localeCompare(b))) {
  row(name, files, sources, tests, sources + tests)
}
row('all', all.files, all.sources, all.tests, all.sources + all.tests)
