// docs/REFERENCE.md from the code: environment, limits and metrics. `npm run reference` writes it; server/tidy.test.ts compares.
import { readFileSync, writeFileSync } from 'node:fs'
import { envName, fileSettings, settings } from '../server/config.ts'
import { limits as bounds } from '../server/limits.ts'
import { connectionsPerWorker, nearPoolSizes, poolSizes } from '../server/connections/databases.ts'
import { createMetrics } from '../server/telemetry/metrics.ts'

const environment = Object.entries<{ fallback: string | undefined; why: string }>(settings).map(
  ([key, { fallback, why }]) =>
    `| \`${envName(key)}\` | ${key === 'workers' ? 'cores' : fallback === undefined ? '–' : `\`${fallback}\``} | ${why} |`,
)

const metrics = (await createMetrics().registry.getMetricsAsJSON()).map(({ name, help, values }) => {
  const labels = new Set((values as { labels: object }[]).flatMap(({ labels }) => Object.keys(labels)))
  labels.delete('le')
  return `| \`${name}${labels.size > 0 ? `{${[...labels].join(',')}}` : ''}\` | ${help} |`
})

const boundsText = readFileSync(new URL('../server/limits.ts', import.meta.url), 'utf8')
const limits = Array.from(
  boundsText.matchAll(/^ {2}\/\*\* (.+) \*\/\n((?: {2}[a-zA-Z]+: [\d_]+,\n)+)/gm),
  ([, why, lines = '']) =>
    Array.from(lines.matchAll(/([a-zA-Z]+): ([\d_]+)/g), ([, name, value]) => `| ${name} | ${value} | ${why} |`),
).flat()

export const reference = `# Reference

Written from the code by \`npm run reference\`.

## Environment

${fileSettings.map((key) => `\`${envName(key)}\``).join(', ')} may also be given as \`…_FILE\`, the name of a file that
holds the value. A set that cannot work is refused at the start, with a sentence that names the variable.

| name | default | meaning |
|---|---|---|
${environment.join('\n')}

## Connections to Postgres

| of | connections |
|---|---|
| each worker (\`WORKERS\`) | ${connectionsPerWorker}: ${Object.entries(poolSizes)
  .map(([name, size]) => `${size} ${name}`)
  .join(', ')} |
| each worker, to a standby (\`DATABASE_READ_URL\`) | ${Object.values(nearPoolSizes).reduce((sum, size) => sum + size)}: ${Object.entries(
  nearPoolSizes,
)
  .map(([name, size]) => `${size} ${name}`)
  .join(', ')} |
| each worker, while it works on an import | 1 more |
| each worker, for each export | 1 more; at most ${bounds.exports}, and ${bounds.exportsInAll} of all workers and servers |
| the primary process | 1 for health |
| the primary process, now and then | 1 for upkeep, orders of lists and numbers of tags each |
| the primary process, past a pooler (\`DATABASE_DIRECT_URL\`) | 1 at the start, and 1 while indexes are built |

A server with 4 workers has ${4 * connectionsPerWorker + 1} always, and ${4 * connectionsPerWorker + 1 + 5 + 4 + bounds.exportsInAll} at most. Two replicas have twice that; exports are counted once.

## Limits

Bounds that nobody needs to tune; they are in \`server/limits.ts\`.

| limit | value | what and why |
|---|---|---|
${limits.join('\n')}

## Metrics

On the ops port, at \`/metrics\`, all workers together: counters summed (a dead worker's totals are kept), gauges by their
own rule. prom-client's process and Node metrics come on top.

| metric | what it says |
|---|---|
${metrics.join('\n')}
`

if (import.meta.main) writeFileSync(new URL('../docs/REFERENCE.md', import.meta.url), reference)
