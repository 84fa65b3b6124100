// What a QuickLink says of itself on its ops port: the text of /metrics, and the state of its workers.
import { ask } from '../../embedded/ask.ts'

export interface Worker {
  readonly redis: {
    readonly tier: string
    readonly breaker: string
    readonly ready: boolean
    readonly trusted: boolean
    /** Of a cluster: how many of its partitions are not. */
    readonly untrusted?: number
  }
  readonly postgres: { readonly breaker: string }
  readonly tier1: { readonly entries: number }
}

export interface Ops {
  metrics(): Promise<Sample[]>
  /** Null: a worker that has said nothing yet, or is starting. */
  status(): Promise<(Worker | null)[]>
}

/** By whatever way it is reached. */
export const opsBy = (get: (path: string) => Promise<string>): Ops => ({
  metrics: async () => parseSamples(await get('/metrics')),
  async status() {
    const { workers } = JSON.parse(await get('/statusz')) as {
      workers: { status: Worker | Record<string, never> | null }[]
    }
    return workers.map(({ status }) => (status && 'redis' in status ? (status as Worker) : null))
  },
})

export const opsAt = (url: string): Ops => opsBy(async (path) => (await ask(url, path, { timeoutMs: 5000 })).text)

/** Of all workers that there should be. */
export const trusted = (all: readonly (Worker | null)[], count: number): boolean =>
  all.length === count && all.every((worker) => worker?.redis.trusted === true && worker.redis.breaker === 'closed')

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/

function parseSamples(text: string): Sample[] {
  return text.split('\n').flatMap((each) => {
    const [, name, labels = '', value] = line.exec(each) ?? []
    if (name === undefined) return []
    const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, word]) => [key, word] as const)
    return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }
  })
}

/** The sum of those whose labels contain these. */
export function total(samples: readonly Sample[], name: string, labels: Readonly<Record<string, string>> = {}): number {
  return samples
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([key, word]) => sample.labels[key] === word))
    .reduce((sum, { value }) => sum + value, 0)
}

/** Of what a histogram counted between two looks: the bound of the bucket that has it. NaN: it counted nothing. */
export function bucketOf(before: readonly Sample[], after: readonly Sample[], name: string, share: number): number {
  const bounds = [...new Set(after.filter((sample) => sample.name === `${name}_bucket`).map(({ labels }) => labels['le'] ?? ''))] // prettier-ignore
  const counted = bounds
    .map((le) => ({
      bound: le === '+Inf' ? Infinity : Number(le),
      count: total(after, `${name}_bucket`, { le }) - total(before, `${name}_bucket`, { le }),
    }))
    .sort((a, b) => a.bound - b.bound)
  const all = counted.at(-1)?.count ?? 0
  return all === 0 ? NaN : (counted.find(({ count }) => count >= share * all)?.bound ?? NaN)
}
