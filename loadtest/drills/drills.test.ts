// What is said about drills, held against the drills.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { projectDir } from '../../embedded/paths.ts'
import { drills } from './all.ts'
import { broken } from './broken.ts'

const read = (...path: string[]): string => readFileSync(join(projectDir, ...path), 'utf8')
const names = drills.map(({ name }) => name)

test('each drill has a file of its name, and a heading in the runbook', () => {
  const runbook = read('RUNBOOK.md')
  for (const name of names) {
    expect(read('loadtest', 'drills', `${name}.ts`)).toContain(`name: '${name}'`)
    expect(runbook).toContain(`\n### ${name}\n`)
  }
})

test('each drill has a promise that is broken on purpose, and the line that breaks it is still there', () => {
  expect(broken.map(({ drill }) => drill).toSorted()).toEqual(names.toSorted())
  for (const { patch } of broken) if (patch) expect(read('server', patch.file)).toContain(patch.from)
})

test('alerts that drills expect, or put up with, exist', () => {
  const { groups } = parse(read('prometheus', 'alerts.yml')) as { groups: { rules: { alert?: string }[] }[] }
  const known = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))
  for (const { alerts, mayRing = [] } of drills)
    for (const alert of [...alerts, ...mayRing]) expect(known).toContain(alert)
})
