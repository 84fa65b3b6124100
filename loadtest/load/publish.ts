// Where others look: the run as a region in Grafana's dashboards, and k6's own metrics in Prometheus. Both only if they are
// up, or named: GRAFANA_URL with GRAFANA_TOKEN, PROMETHEUS_WRITE_URL (…/api/v1/write).
import { composed } from '../../appliance/compose.ts'
import { grafanaPassword } from '../../appliance/docker.ts'
import { basic, type Grafana } from '../report/grafana.ts'

/**
 * The appliance's Prometheus takes figures from others only meanwhile: whoever reaches it may write, without a password. What
 * was killed on the way leaves it so until the next `make up`.
 */
export async function whileReceiving<T>(work: () => Promise<T>): Promise<T> {
  const restart = (env: NodeJS.ProcessEnv): Promise<string> =>
    composed(['up', '--detach', '--no-deps', '--wait', 'prometheus'], { env })
  await restart({ PROMETHEUS_RECEIVER: '' })
  try {
    return await work()
  } finally {
    await restart({})
  }
}

export async function findGrafana(env: NodeJS.ProcessEnv, inDocker: boolean): Promise<Grafana | undefined> {
  const { GRAFANA_URL: url, GRAFANA_TOKEN: token } = env
  if (url && token) return { url, authorization: `Bearer ${token}` }
  if (!inDocker) return undefined
  const password = await grafanaPassword()
  return { url: `http://127.0.0.1:${env['GRAFANA_PORT'] || '3000'}`, authorization: basic(password) }
}
