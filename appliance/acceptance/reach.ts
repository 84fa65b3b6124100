// Who can open a connection to whom, tried from inside each container by every address that the other one has.
import { docker, idsOf } from '../compose.ts'
import { whoReachesWhom } from '../who-reaches-whom.ts'
import { check, step } from './steps.ts'

const ports: Readonly<Record<string, readonly number[]>> = {
  quicklink: [8080, 9464],
  redis: [6379],
  postgres: [5432],
  'redis-exporter': [9121],
  'postgres-exporter': [9187],
  prometheus: [9090],
  alertmanager: [9093],
  grafana: [3000],
}

interface Container {
  readonly Id: string
  readonly Config: { readonly Labels: Readonly<Record<string, string>> }
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>> }
}

/** Run in the network of a container: which of these addresses take a connection. */
const tryAll = `
  const { connect } = require('node:net')
  const opens = (place) => new Promise((resolve) => {
    const [host, port] = place.split(':')
    const socket = connect({ host, port, timeout: 1500 })
    const answer = (open) => () => { socket.destroy(); resolve(open ? place : '') }
    socket.once('connect', answer(true)).once('error', answer(false)).once('timeout', answer(false))
  })
  Promise.all(process.argv.slice(1).map(opens)).then((open) => console.log(open.filter(Boolean).join(' ')))`

const insideOf = async ({ Id }: Container, script: string, ...args: string[]): Promise<string> => {
  const run = [
    'run',
    '--rm',
    '--network',
    `container:${Id}`,
    '--entrypoint',
    'node',
    'quicklink',
    '-e',
    script,
    ...args,
  ]
  const { code, text, errors } = await docker(run)
  check(code === 0, errors)
  return text.trim()
}

async function reach(): Promise<string> {
  const running = JSON.parse((await docker(['inspect', ...(await idsOf('--status', 'running'))])).text) as Container[]
  const nameOf = ({ Config }: Container): string => Config.Labels['com.docker.compose.service'] ?? ''
  const places = new Map(
    running.flatMap((container) =>
      Object.values(container.NetworkSettings.Networks).flatMap(({ IPAddress }) =>
        (ports[nameOf(container)] ?? []).map((port): [string, string] => [`${IPAddress}:${port}`, nameOf(container)]),
      ),
    ),
  )
  for (const container of running) {
    const name = nameOf(container)
    const others = [...places].filter(([, other]) => other !== name)
    const open = (await insideOf(container, tryAll, ...others.map(([place]) => place))).split(' ')
    const reached = new Set(open.flatMap((place) => places.get(place) ?? []))
    const expected = (whoReachesWhom[name] ?? '').split(' ').filter((other) => ports[other])
    const [is, should] = [[...reached], expected].map((names) => names.toSorted().join(' '))
    check(is === should, `${name} reaches ${is}, and should reach ${should}`)
  }
  return `${running.length} containers, ${places.size} addresses`
}

const write = `fetch('http://prometheus:9090/api/v1/write', { method: 'POST' }).then(({ status }) => console.log(status))`

export async function isApart(): Promise<void> {
  await step('each service reaches those that it has to do with, and no others', reach)
  await step('Prometheus takes no figures from Grafana, which reaches it', async () => {
    const [grafana] = JSON.parse((await docker(['inspect', ...(await idsOf('grafana'))])).text) as [Container]
    const status = await insideOf(grafana, write)
    check(status === '404', status)
    return undefined
  })
}
