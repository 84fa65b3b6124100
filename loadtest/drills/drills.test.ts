// What is said about drills, held against the drills.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { projectDir } from '../../embedded/paths.ts'
import { drills } from './all.ts'
import { broken } from './broken.ts'
import { compressedBy, evidenceShare, secondsOf } from './engine/drill.ts'
import { ofExporters } from './engine/rules.ts'
import { redisFailover } from './redis-failover.ts'
import { redisRefused } from './redis-refused.ts'
import { workerHung } from './worker-hung.ts'

const read = (...path: string[]): string => readFileSync(join(projectDir, ...path), 'utf8')
const names = drills.map(({ name }) => name)

test('each drill has a file of its name, and a heading in the runbook', () => {
  const runbook = read('RUNBOOK.md')
  for (const name of names) {
    expect(read('loadtest', 'drills', `${name}.ts`)).toContain(`name: '${name}'`)
    expect(runbook).toContain(`\n### ${name}\n`)
  }
})

test('README says how many there are', () => {
  expect(read('README.md')).toContain(`\n${names.length} drills, `)
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

test('alerts that need exporters exist, and are expected by the drills about them alone', () => {
  const drillsOf = (alert: string) => drills.filter(({ alerts }) => alerts.includes(alert)).map(({ name }) => name)
  for (const alert of ofExporters) expect(drillsOf(alert)).toEqual(['redis-memory-full'])
})

test('each drill says how long it lasts in earnest and in short, and evidence follows from load and time', () => {
  expect(secondsOf(redisRefused, { short: false })).toBe(12)
  expect(secondsOf(redisRefused, { short: true })).toBe(6)
  expect(secondsOf(redisRefused, { short: true, faultSeconds: 60 })).toBe(60)
  expect(secondsOf(workerHung, { short: true, faultSeconds: 60 })).toBe(11)
  expect(evidenceShare(redisRefused, { short: true })).toBe(1)
  expect(evidenceShare(redisRefused, { short: false, rate: 150 })).toBe(0.5)
  expect(evidenceShare(redisRefused, { short: false, rate: 600, faultSeconds: 3 })).toBe(0.5)
  expect(evidenceShare(redisFailover, { short: true })).toBe(1)
  const options = { short: true, mode: 'embedded', sources: '', say: () => undefined } as const
  expect(compressedBy(redisRefused, options)).toEqual([
    'the fault lasts 6 s instead of 12 s',
    expect.stringContaining('an open breaker is tried again after 3 s instead of 30 s'),
    'baseline and aftermath are watched for 4 s each instead of 6 s',
  ])
  expect(compressedBy(redisRefused, { ...options, short: false })).toEqual([])
})
