// Many single questions become few questions about many keys: what is asked while a batch is under way waits for
// the next one. The queue and the batches in flight are bounded; beyond that asking fails at once with `Overloaded`.

export class Overloaded extends Error {
  override readonly name = 'Overloaded'
}

interface Waiting<K, V> {
  readonly key: K
  readonly resolve: (value: V) => void
  readonly reject: (error: unknown) => void
}

interface Bounds {
  readonly maxKeys: number
  readonly maxInFlight: number
  readonly maxQueued: number
}

/** `load` answers in the order of its keys. */
export function microBatch<K, V>(load: (keys: K[]) => Promise<readonly V[]>, bounds: Bounds) {
  let queue: Waiting<K, V>[] = []
  let inFlight = 0
  let scheduled = false

  const dispatch = (): void => {
    scheduled = false
    while (queue.length > 0 && inFlight < bounds.maxInFlight) {
      const batch = queue.length <= bounds.maxKeys ? queue : queue.slice(0, bounds.maxKeys)
      queue = batch === queue ? [] : queue.slice(bounds.maxKeys)
      inFlight++
      void run(batch)
    }
  }

  const run = async (batch: Waiting<K, V>[]): Promise<void> => {
    try {
      const values = await load(batch.map((waiting) => waiting.key))
      batch.forEach((waiting, i) => waiting.resolve(values[i] as V))
    } catch (error) {
      for (const waiting of batch) waiting.reject(error)
    } finally {
      inFlight--
      dispatch()
    }
  }

  return {
    get(key: K): Promise<V> {
      if (queue.length >= bounds.maxQueued) return Promise.reject(new Overloaded('too many lookups are waiting'))
      return new Promise<V>((resolve, reject) => {
        queue.push({ key, resolve, reject })
        if (scheduled) return
        scheduled = true
        // After the sockets that are readable now have been read: their questions share the batch.
        setImmediate(dispatch)
      })
    },
  }
}
