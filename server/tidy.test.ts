// The house rules: what the documents say is what the code does, and files stay small and free of one machine's traces.
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { reference } from '../scripts/reference.ts'
import { envName, fileSettings, settings } from './config.ts'
import { limits } from './limits.ts'
import { createMetrics } from './telemetry/metrics.ts'

const root = new URL('..', import.meta.url).pathname
const find = (pattern: string): string[] =>
  globSync(pattern, {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|\.git|\.quicklink|dist|reports|results)$/.test(path),
  })
const read = (path: string): string => readFileSync(root + path, 'utf8')

const code = find('**/*.{ts,js,cjs,mjs,lua,sql,sh}')
const documents = find('**/*.md')

/** The rows of every table whose header begins with these names, as cells. */
function rows(markdown: string, ...header: string[]): string[][] {
  const lines = markdown.split('\n').map((line) => line.trim())
  const cellsOf = (line: string): string[] =>
    line
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim())
  return lines.flatMap((line, i) => {
    if (!line.startsWith('|') || !header.every((name, n) => cellsOf(line)[n]?.toLowerCase() === name)) return []
    const end = lines.findIndex((other, n) => n > i && !other.startsWith('|'))
    return lines.slice(i + 2, end === -1 ? undefined : end).map(cellsOf)
  })
}
/** Inline code and code blocks. */
const codeIn = (markdown: string): string[] =>
  Array.from(markdown.matchAll(/```[\s\S]*?```|`[^`\n]+`/g), ([text]) => text)
const ticked = (cell = ''): string[] => Array.from(cell.matchAll(/`([^`]+)`/g), ([, text]) => text ?? '')

test('tables are read as they are meant', () => {
  const table = '| name | default | x |\n|---|---|---|\n| `A`, `B` | 1, 2 | a \\| b |\n\n| other |\n|---|\n| `C` |'
  expect(rows(table, 'name', 'default')).toEqual([['`A`, `B`', '1, 2', 'a \\| b']])
})

test('documented environment variables exist, have the documented default, and none is left out', () => {
  const documented = documents.flatMap((path) => rows(read(path), 'name', 'default'))
  const known = new Map<string, string | undefined>(
    Object.entries(settings).map(([key, { fallback }]) => [envName(key), key === 'workers' ? 'cores' : fallback]),
  )
  for (const key of fileSettings) known.set(`${envName(key)}_FILE`, undefined)
  const seen = new Set<string>()
  for (const [nameCell, defaultCell = ''] of documented) {
    const names = ticked(nameCell)
    const defaults = defaultCell.replaceAll('`', '').split(', ')
    for (const [i, name] of names.entries()) {
      expect(known.has(name), `${name} is documented, but config.ts does not know it`).toBe(true)
      seen.add(name)
      const fallback = known.get(name)
      if (fallback !== undefined) expect(defaults[i], `the documented default of ${name}`).toBe(fallback)
    }
  }
  for (const key of Object.keys(settings)) expect(seen, `${envName(key)} is not documented`).toContain(envName(key))
})

test('the reference is what the code says, and every limit stands in it with its value', () => {
  expect(read('docs/REFERENCE.md'), 'npm run reference').toBe(reference)
  const documented = rows(reference, 'limit', 'value').map(([name, value]) => [
    name,
    Number(value?.replaceAll('_', '')),
  ])
  expect(Object.fromEntries(documented)).toEqual(limits)
})

test('metrics that documents, alerts and dashboards name exist', () => {
  const { registry } = createMetrics()
  const known = new Set(registry.getMetricsAsArray().map(({ name }) => name))
  const sources = [
    ...documents.flatMap((path) => codeIn(read(path))),
    ...find('{prometheus,grafana}/**/*.{yml,yaml,json}').map(read),
  ]
  for (const source of sources) {
    for (const [name] of source.matchAll(/\b(quicklink_[a-z_]+_(total|seconds|size|state)\b|redis_command_[a-z_]+)/g)) {
      expect(known, `${name} is named somewhere, but not in metrics.ts`).toContain(
        name.replace(/_(bucket|sum|count)$/, ''),
      )
    }
  }
  const documented = documents.flatMap((path) => rows(read(path), 'metric').flatMap(([cell]) => ticked(cell)))
  const names = new Set(documented.map((name) => name.replace(/\{.*/, '')))
  for (const name of known) expect(names, `${name} is not documented`).toContain(name)
})

test('files are short, or say why they are long', () => {
  const long = code.filter((path) => {
    const lines = read(path).trimEnd().split('\n')
    return lines.length > 300 && !lines.slice(0, 8).some((line) => line.includes('Long because'))
  })
  expect(long).toEqual([])
})

const machinePath = /(?<![\w.$}])\/(?:work|home\/[a-z]+|Users\/[A-Za-z]+)\/[\w.-]+/

test('no path of one machine, and no test that is left out without a reason', () => {
  for (const path of [...code, ...documents, ...find('*.{json,yml}')]) {
    if (path === 'package-lock.json') continue
    const text = read(path)
    expect(machinePath.exec(text)?.[0], path).toBeUndefined()
    if (!path.endsWith('.test.ts')) continue
    const lines = text.split('\n')
    for (const [i, line] of lines.entries()) {
      expect(/\b(test|it|describe)\.only\(/.test(line), `${path}:${i + 1}`).toBe(false)
      const skipped = /\b(test|it|describe)\.(skip|skipIf|todo)\(/.test(line)
      if (skipped) expect(`${lines[i - 1] ?? ''}${line}`, `${path}:${i + 1} needs a reason`).toContain('//')
    }
  }
})

test('the lock file names no host', () => {
  expect(read('package-lock.json')).not.toMatch(/"resolved"|https?:\/\/[^"]*registry/)
})
