// A V8 CPU profile, by the functions that the time was spent in.

interface Frame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

export interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export interface SelfTime {
  readonly name: string
  /** Of the time in which the process was not idle. */
  readonly share: number
}

export function selfTimes({ nodes, samples, timeDeltas }: CpuProfile): SelfTime[] {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const spent = new Map<string, number>()
  let busyUs = 0
  samples.forEach((id, i) => {
    const frame = frames.get(id)
    if (frame === undefined || frame.functionName === '(idle)') return
    const us = timeDeltas[i] ?? 0
    const name = nameOf(frame)
    busyUs += us
    spent.set(name, (spent.get(name) ?? 0) + us)
  })
  return [...spent].map(([name, us]) => ({ name, share: us / busyUs })).sort((a, b) => b.share - a.share)
}

function nameOf({ functionName, url, lineNumber }: Frame): string {
  const name = functionName || '(anonymous)'
  if (url === '') return name
  const file = url.startsWith('node:') ? url : url.split('/').slice(-2).join('/')
  return `${name} ${file}:${lineNumber + 1}`
}
