// `make check-alerts`: what only Prometheus' own tool can say about the rules, their tests, and the dashboards' queries.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { panelQueries } from '../grafana/dashboards.ts'
import { writeRules } from '../loadtest/drills/engine/rules.ts'

const root = new URL('..', import.meta.url).pathname
const temporary = mkdtempSync(join(tmpdir(), 'quicklink-alerts-'))

/** The queries of all panels, as rules, so that promtool parses them. */
function queriesAsRules(): string {
  const rules = panelQueries('1m').map(({ expr }, i) => ({ record: `panel:query:${i}`, expr }))
  const file = join(temporary, 'panels.yml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }))
  return file
}

/** What the Prometheus of a drill is given. */
function rulesOfDrills(): string {
  writeRules(temporary)
  return join(temporary, 'prometheus.yml')
}

const steps: Readonly<Record<string, readonly string[]>> = {
  'config and rules': ['check', 'config', 'prometheus/prometheus.yml'],
  'config and rules in the time of drills': ['check', 'config', rulesOfDrills()],
  'queries of the dashboards': ['check', 'rules', queriesAsRules()],
  'cases of the alerts': ['test', 'rules', 'prometheus/alerts.test.yml'],
}

let failed = 0
try {
  for (const [name, args] of Object.entries(steps)) {
    const { status } = spawnSync(join(root, 'scripts', 'promtool.sh'), args, { cwd: root, stdio: 'inherit' })
    if (status !== 0) failed++
    console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name}`)
    // Without promtool the others would say the same.
    if (status !== 0 && name === 'config and rules') break
  }
} finally {
  rmSync(temporary, { recursive: true })
}
process.exitCode = failed === 0 ? 0 : 1
