// A log that is loud: each broken connection is a line, and connections to Redis break all the time.
import { repeat } from '../measure/repeat.ts'
import type { DrillContext } from './engine/drill.ts'

/** Its settings: each broken connection is said. */
export const loud = { env: { LOG_LEVEL: 'debug' } }

let stop: (() => Promise<void>) | undefined

export function makeNoise({ appliance }: DrillContext): void {
  stop = repeat(50, () => appliance.proxies.set('redis', 'cut'))
}

export async function endNoise(): Promise<void> {
  await stop?.()
  stop = undefined
}
