// Marks on the dashboards, where a Grafana is. Nobody relies on them: what cannot be marked is not.
export interface Grafana {
  readonly url: string
  readonly password: string
  /** In which both are. */
  readonly container: string
}

export type Moment = 'start' | 'fault' | 'heal'

/** An annotation of the organisation: the dashboards find it by its tags (grafana/drills.ts). False: it was not taken. */
export async function markInGrafana(
  { url, password }: Omit<Grafana, 'container'>,
  moment: Moment,
  text: string,
): Promise<boolean> {
  try {
    const { ok } = await fetch(`${url}/api/annotations`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        Authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`,
      },
      body: JSON.stringify({ time: Date.now(), tags: ['quicklink-drill', moment], text }),
      signal: AbortSignal.timeout(2000),
    })
    return ok
  } catch {
    return false
  }
}
