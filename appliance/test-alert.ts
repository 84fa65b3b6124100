// `make test-alert`: one alert, sent through Alertmanager to whoever is told, and what became of it by Alertmanager's own account.
import { randomBytes } from 'node:crypto'
import { parse } from 'yaml'
import { Refusal, type Say } from '../embedded/paths.ts'
import { type Config, hearersIn, howToBeTold } from '../embedded/receiver.ts'
import { until } from '../embedded/wait.ts'

/** Of the API of Alertmanager; undefined: it does not run. */
export interface Alertmanager {
  get(path: string): Promise<string>
  post(path: string, body: string): Promise<unknown>
  /** Where its log is. */
  readonly log: string
}

/** By what somebody is told, by the configuration that it runs with. */
export async function whoHears({ get }: Alertmanager): Promise<string[]> {
  const { config } = JSON.parse(await get('/api/v2/status')) as { config: { original: string } }
  return hearersIn(parse(config.original) as Config)
}

interface Tried {
  /** By what: `webhook`, `email`. */
  readonly sent: readonly string[]
  readonly failed: readonly string[]
}

/** Longer than Alertmanager waits for a webhook or a mail server that hangs. */
const deadlineMs = 45_000

export async function testAlert(alertmanager: Alertmanager | undefined, say: Say, patienceMs = deadlineMs): Promise<void> {
  if (!alertmanager) throw new Refusal('Alertmanager does not run: install prometheus and alertmanager, then `make up`.')
  const hearers = await whoHears(alertmanager)
  if (hearers.length === 0) throw new Refusal(`Nobody is told of alerts: ${howToBeTold}.`)
  const before = await attempts(alertmanager)
  const at = new Date()
  const alert = {
    labels: { alertname: 'QuickLinkTestAlert', severity: 'critical', test: randomBytes(4).toString('hex') },
    annotations: { summary: 'A test of QuickLink: somebody ran `make test-alert`.', description: 'Nothing is wrong.' },
    startsAt: at.toISOString(),
    endsAt: new Date(at.getTime() + 60_000).toISOString(),
  }
  await alertmanager.post('/api/v2/alerts', JSON.stringify([alert]))
  say(`Sent to Alertmanager; waiting until it has gone on by ${hearers.join(' and ')}`)
  let tried: Tried = { sent: [], failed: [] }
  const settled = async (): Promise<boolean> => {
    tried = grown(before, await attempts(alertmanager))
    return hearers.every((kind) => tried.sent.includes(kind) || tried.failed.includes(kind))
  }
  await until(settled, patienceMs, 200)
  const wanting = hearers.filter((kind) => !tried.sent.includes(kind))
  if (wanting.length > 0) throw new Refusal(`The test alert did not go out by ${wanting.join(' and ')}: ${alertmanager.log} says why.`)
  say(`It was taken by ${hearers.join(' and ')}: look whether it has arrived. In some minutes you are told that it is over.`)
} // prettier-ignore

type Attempts = ReadonlyMap<string, { all: number; failed: number }>

async function attempts({ get }: Alertmanager): Promise<Attempts> {
  const text = await get('/metrics')
  const sums = new Map<string, { all: number; failed: number }>()
  const line = /^alertmanager_notification_requests_(failed_)?total\{[^}]*integration="([^"]+)"[^}]*\} (\S+)$/gm
  for (const [, failed, kind = '', value] of text.matchAll(line)) {
    const sum = sums.get(kind) ?? { all: 0, failed: 0 }
    sum[failed ? 'failed' : 'all'] += Number(value)
    sums.set(kind, sum)
  }
  return sums
}

/** One that failed is tried again: sent is what was once not refused. */
function grown(before: Attempts, now: Attempts): Tried {
  const changed = [...now].map(([kind, { all, failed }]) => {
    const old = before.get(kind) ?? { all: 0, failed: 0 }
    return { kind, all: all - old.all, failed: failed - old.failed }
  })
  return {
    sent: changed.filter(({ all, failed }) => all > failed).map(({ kind }) => kind),
    failed: changed.filter(({ failed }) => failed > 0).map(({ kind }) => kind),
  }
}
