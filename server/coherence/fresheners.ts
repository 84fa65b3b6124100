// The partitions of a cluster are made fresh side by side: one that hangs holds no other up. Of what a pass has heard, each
// is told its own codes. Those that have to ask Postgres themselves ask together.
import type { Partitions } from '../connections/partitions.ts'
import { compareSnapshots, endOf, isAhead, type Cursor } from './cursor.ts'
import type { Freshener } from './freshen.ts'
import type { Changes, Truth } from './truth.ts'

type Asks = Pick<Truth, 'changesSince'>

export function createFresheners<P>(
  partitions: Partitions<P>,
  truth: Asks,
  make: (partition: P, truth: Asks, index: number) => Freshener,
): Freshener {
  const [only] = partitions.all
  if (partitions.all.length === 1 && only) return make(only, truth, 0)

  const split = (found: Changes): ((index: number) => Changes) => {
    const changes = partitions.group(found.changes, ({ code }) => code)
    const forget = partitions.group(found.forget, (code) => code)
    return (index) => ({ ...found, changes: changes.get(index) ?? [], forget: forget.get(index) ?? [] })
  }
  const ask = askTogether(truth, split)
  const all = partitions.all.map((partition, index) =>
    make(partition, { changesSince: (since) => ask(index, since) }, index),
  )
  return {
    tell(answer) {
      const partOf = answer && split(answer.found)
      for (const [index, freshener] of all.entries()) freshener.tell(partOf && { ...answer, found: partOf(index) })
    },
    async settled() {
      await Promise.all(all.map(({ settled }) => settled()))
    },
    distrust() {
      for (const { distrust } of all) distrust()
    },
  }
}

interface Question {
  readonly index: number
  readonly since: Cursor | null
  readonly answer: (found: Changes) => void
  readonly reject: (error: unknown) => void
}

/** One statement for all whose cursors are of about the same time: since the oldest of them. What some of them have already is repeated there. */
function askTogether({ changesSince }: Asks, split: (found: Changes) => (index: number) => Changes) {
  let waiting: Question[] = []
  let isAsking = false

  const askFor = async (questions: readonly Question[]): Promise<void> => {
    try {
      const found = await changesSince(oldestOf(questions))
      const partOf = split(found)
      for (const { index, since, answer } of questions)
        answer({ ...partOf(index), ahead: since !== null && isAhead(since, endOf(found.next)) })
    } catch (error) {
      for (const { reject } of questions) reject(error)
    }
  }

  const askAll = async (): Promise<void> => {
    // Whoever asks in the same turn of the event loop, or while others are answered, shares a statement.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      const groups = Object.groupBy(waiting, ({ since }) => likenessOf(since))
      waiting = []
      for (const questions of Object.values(groups)) if (questions) await askFor(questions)
    }
    isAsking = false
  }

  return (index: number, since: Cursor | null): Promise<Changes> =>
    new Promise((answer, reject) => {
      waiting.push({ index, since, answer, reject })
      if (isAsking) return
      isAsking = true
      void askAll()
    })
}

const minuteS = 60

/** Within a long list, only who stands at the same place of it. */
function likenessOf(since: Cursor | null): string {
  if (since === null) return ''
  return since.to === undefined ? `${since.identity} ${Math.floor(since.atS / minuteS)}` : JSON.stringify(since)
}

const oldestOf = (questions: readonly Question[]): Cursor | null =>
  questions
    .map(({ since }) => since)
    .reduce((a, b) => (a === null || b === null || compareSnapshots(a.snapshot, b.snapshot) <= 0 ? a : b))
