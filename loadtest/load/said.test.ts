// What a load test tells whoever runs it.
import { expect, test } from 'vitest'
import { cores, type Moment } from './sampler.ts'
import { whose } from './judge.ts'
import { announcement, progress, terminal } from './progress.ts'

const written = (isTTY: boolean): { text: () => string; say: ReturnType<typeof terminal> } => {
  const all: string[] = []
  return { text: () => all.join(''), say: terminal({ isTTY, write: (text: unknown) => all.push(String(text)) > 0 }) }
}

test('beforehand it says what it will do, and how long that takes', () => {
  const phases = [
    { name: 'warm-up', fromS: 0, toS: 3 },
    { name: 'baseline', fromS: 3, toS: 33 },
    { name: 'spike', fromS: 33, toS: 53 },
  ]
  const rates = new Map([['warm-up', 1000], ['baseline', 1000], ['spike', 5000]]) // prettier-ignore
  expect(announcement({ phases, rates }, 100_000)).toBe(
    'It makes 100,000 links, sends warm-up 1,000/s for 3 s, baseline 1,000/s for 30 s, spike 5,000/s for 20 s, and removes the links: about 63 s in all.',
  )
})

const second = { phase: 'baseline', answers: 1000, p50Ms: 0.9, p99Ms: 5.25, maxMs: 9, statuses: {}, dropped: 0 }

test('the live line has rate, percentiles and errors; on a terminal it is written over, elsewhere every fifth stays', () => {
  const [onTerminal, inFile] = [written(true), written(false)]
  for (const { say } of [onTerminal, inFile]) {
    const tell = progress(say)
    tell({ atS: 4, wrong: 0, failed: 0, ...second })
    tell({ atS: 5, wrong: 1, failed: 2, ...second })
    tell({ atS: 6, wrong: 0, failed: 0, ...second })
    say('Removing the links')
  }
  expect(inFile.text()).toBe(
    '    5 s  baseline    1,000/s  p50 0.9 ms  p99 5.25 ms  1 wrong, 2 failed so far\nRemoving the links\n',
  )
  const over = '\r\u001b[K'
  const lines = onTerminal.text().split(over)
  expect(lines[0]).toBe('    4 s  baseline    1,000/s  p50 0.9 ms  p99 5.25 ms  no errors')
  expect(lines[1]?.split('\n')).toHaveLength(2)
  expect(lines[2]).toBe('Removing the links\n')
})

const moment = (atMs: number, cpu: Moment['cpu'], idleS: number): Moment => ({ atMs, samples: [], cpu, idleS })

test('a full machine is somebody’s: it says whose, and what to do about that', () => {
  const before = moment(0, { server: 0, generator: 0 }, 0)
  const busy = (server: number, generator: number): string => whose(before, moment(10_000, { server, generator }, 0))
  expect(busy(1, 2)).toContain(`of ${cores} cores other programs ${(cores - 0.3).toFixed(2)}, k6 0.20, server 0.10. Most of it was other programs: run it again when they are done.`) // prettier-ignore
  expect(busy(1, 10 * cores - 2)).toContain('the load generator itself: lower RATE, or run k6 on another machine')
  expect(busy(10 * cores - 2, 1)).toContain('Most of it was server: lower RATE.')
  // In containers QuickLink cannot be told from the others.
  expect(whose(moment(0, { generator: 0 }, 0), moment(10_000, { generator: 1 }, 0))).toContain('Most of it was QuickLink in its containers and other programs: lower RATE.') // prettier-ignore
})
